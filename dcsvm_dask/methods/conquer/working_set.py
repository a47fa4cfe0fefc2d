"""One conquer round for a smooth kernel: one working set, solved whole, then f of the others.

Where every row sees every other, blocks improved apart undo each other's work; one set of all
free variables and violators does not. Its solution gives f of its own rows at no further kernel
value; of the others, those rest that a sample shows to be out of the step's reach. The first set
holds the support vectors that an SVM trained on nested random subsets predicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import counted_kernel_matrix, kernel_product
from dcsvm_dask.methods.conquer.point import Point, commit_point, largest_set
from dcsvm_dask.methods.conquer.rounds import scope_rows
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.progress import set_reporter
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.random_streams import WORKING_SET_CHECK, generator
from dcsvm_dask.solvers import (
    SubsetMachine,
    bias,
    reach,
    size_multiplier,
    solve_inner,
    solve_working_sets,
    train_on_subsets,
)
from dcsvm_dask.solvers.working_sets import INNER_FLOOR
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

Vector = NDArray[np.float64]


def solve_subsets(run: RunFolder, attempt: Attempt) -> Record:
    """Commit the SVM of the largest of nested random subsets."""
    machine, record = train_machine(read_problem(run))
    for name in ("rows", "coef", "seen", "f"):
        attempt.write(name, getattr(machine, name))
    return record


def train_machine(problem: Problem) -> tuple[SubsetMachine, Record]:
    """Solve nested random subsets, each on the rows that the one before takes for near."""
    settings = problem.settings
    machine, work = train_on_subsets(
        settings.kernel,
        problem.take,
        problem.dual,
        equality=settings.fit_intercept,
        cap=settings.set_cap,
        seed=[settings.seed, 6000],
        threads=threads(),
    )
    return machine, {
        "sizes": work.sizes,
        "bias": machine.bias,
        "n_support": len(machine.rows),
        "iterations": work.n_iter,
        "kernel_values": work.kernel_values,
    }


def predict_support(
    run: RunFolder, attempt: Attempt, *, subset: str, part: int, parts: int
) -> Record:
    """Compute decision values of the SVM of the last subset, for a share of the rows.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    subset : str
        The stage of the subsets.
    part, parts : int
        The share and the number of shares.
    """
    problem = read_problem(run)
    node = run.node(subset, "commit")
    known: dict[str, Any] = {name: node.read(name) for name in ("rows", "coef", "seen", "f")}
    machine = SubsetMachine(problem.settings.kernel, bias=float(node.record["bias"]), **known)
    mine = scope_rows(run, None, part, parts)
    expected, values = machine.decide(problem.take, mine)
    attempt.write("expected", expected)
    return {"rows": len(mine), "kernel_values": values}


SOLVE = "solve-0000"
# Rows outside of the set on which its step is looked at.
SAMPLE_ROWS = 512
# A row at zero rests if its margin is this many times that of every row of the sample that came
# near to violating ...
REST = 1.5
# ... which is this far from it, in units of `Dual.margin`.
NEAR = 0.1


def start_sets(
    run: RunFolder, attempt: Attempt, *, stage: str, subset: str | None, parts: int, tol: float
) -> Record:
    """Commit the start at zero, whose working set are the predicted support vectors, or all rows.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of the start.
    subset : str or None
        The stage of the subsets that predict support vectors; None: there are none.
    parts : int
        Number of shares of their decision values.
    tol : float
        Tolerance of the chain.
    """
    problem = read_problem(run)
    zero = np.zeros(problem.n)
    expected, offset = zero, None
    if subset is not None:
        nodes = [run.node(stage, f"predict-{part:04d}") for part in range(parts)]
        expected = np.concatenate([node.read("expected") for node in nodes])
        offset = float(run.node(subset, "commit").record["bias"])
    point = Point(np.arange(problem.n), zero, zero, expected=expected, bias=offset)
    record = commit_point(problem, attempt, point, number=0, tol=tol, local=False)
    return {**record, "from_scratch": False}


def solve_at_once(
    run: RunFolder, attempt: Attempt, *, previous: str | None, predicts_support: bool, tol: float
) -> Record:
    """Solve the problem by as many working sets as it takes.

    Parameters
    ----------
    previous : str or None
        The stage whose committed point it starts from; None: zero.
    predicts_support : bool
        Whether the first set of a start from zero is predicted by an SVM trained on a subset.
    """
    problem = read_problem(run)
    settings = problem.settings
    X, dual, counted = problem.X.read(0, problem.n), problem.dual, 0
    beta = f = np.zeros(problem.n)
    first = np.arange(problem.n)
    if previous is not None:
        before = run.node(previous, "commit")
        beta, f, first = before.read("beta")[0], before.read("f"), before.read("block_rows")
    elif predicts_support:
        machine, subsets = train_machine(problem)
        expected, values = machine.decide(problem.take, first, threads())
        first = machine.first_set(expected, dual, settings.set_cap)
        counted = subsets["kernel_values"] + values
    dual = problem.dual_at(beta)
    found = solve_working_sets(
        settings.kernel,
        X,
        dual,
        beta=beta,
        f=f,
        first=first,
        equality=settings.fit_intercept,
        tol=INNER_FLOOR * tol,
        cap=largest_set(problem, settings.set_cap),
        inner=settings.inner,
        threads=threads(),
        rest=True,
        solved=set_reporter(),
    )
    attempt.write("beta", found.beta[None, :])
    return {
        "rows": problem.n,
        **multipliers_at(problem, dual.gradient(found.f, found.beta), found.beta),
        "sets": found.sets,
        "iterations": found.n_iter,
        "fallbacks": found.fallbacks,
        "kernel_values": counted + found.kernel_values,
    }


def multipliers_at(problem: Problem, gradient: Vector, beta: Vector) -> Record:
    """Return the bias and, where the sizes of variables have a sum, the multiplier of that.

    Parameters
    ----------
    problem : Problem
    gradient, beta : ndarray, shape (n,), float64
    """
    if not problem.settings.fit_intercept:
        return {"bias": 0.0}
    dual = problem.dual_at(beta)
    found = {"bias": bias(gradient, beta, dual)}
    return (
        found
        if problem.size is None
        else {**found, "epsilon": size_multiplier(gradient, beta, dual)}
    )


def solve_set(run: RunFolder, attempt: Attempt, *, previous: str, number: int) -> Record:
    """Solve the working set of a committed point, and find the other rows that its step affects.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    previous : str
        The stage of the point, which has chosen the working set.
    number : int
        Number of the round.
    """
    problem = read_problem(run)
    settings = problem.settings
    before = run.node(previous, "commit")
    beta, f, expected = before.read("beta")[0], before.read("f"), before.read("expected")
    index = before.read("block_rows")
    X, dual = problem.take(index), problem.dual_at(beta)[index]
    K, values_of_set = counted_kernel_matrix(settings.kernel, X, threads=threads())
    solution = solve_inner(
        K,
        dual,
        inner=settings.inner,
        beta=beta[index],
        gradient=dual.gradient(f[index], beta[index]),
        equality=settings.fit_intercept,
        tol=before.record["inner_tol"],
    )
    del K
    step = solution.beta - beta[index]
    moved = np.flatnonzero(step)
    beta[index] = solution.beta
    attempt.write("beta", beta[None, :])
    attempt.write("f", dual.decision(solution.gradient, solution.beta))
    attempt.write("moved", index[moved])
    attempt.write("step", step[moved])
    outside = np.ones(problem.n, dtype=np.bool_)
    outside[index] = False
    others = np.flatnonzero(outside & before.read("active"))
    of_others = problem.dual[others].eased(before.record.get("epsilon", 0.0))
    gradient = of_others.gradient(expected[others] + before.record["bias"], beta[others])
    margin = -reach(gradient, beta[others], of_others)
    may_rest = np.flatnonzero((beta[others] == 0.0) & (margin > 0.0))
    rng = generator(settings.seed, WORKING_SET_CHECK, number)
    seen = rng.choice(may_rest, size=min(len(may_rest), SAMPLE_ROWS), replace=False)
    seen = np.sort(seen)
    sample = others[seen]
    change, values = kernel_product(
        settings.kernel, problem.take(sample), X[moved], step[moved], threads=threads()
    )
    offset, epsilon = 0.0, 0.0
    if settings.fit_intercept:
        offset = bias(solution.gradient, solution.beta, dual)
        epsilon = size_multiplier(solution.gradient, solution.beta, dual)
    change += f[sample] - expected[sample] + offset - before.record["bias"]
    of_sample = problem.dual[sample].eased(epsilon)
    if problem.size is not None:
        change += of_sample.p - of_others.p[seen]
    before_step = margin[seen]
    near = NEAR * dual.margin
    after = -reach(gradient[seen] + change, np.zeros(len(seen)), of_sample)
    came_near = after < near
    furthest = float(np.max(before_step, where=came_near, initial=0.0))
    others = np.delete(others, may_rest[margin[may_rest] > near + REST * furthest])
    attempt.write("others", others)
    return {
        "rows": len(index),
        "moved": len(moved),
        "others": len(others),
        "furthest": furthest,
        "bias": offset,
        **({} if problem.size is None else {"epsilon": epsilon}),
        "iterations": solution.n_iter,
        "fallbacks": solution.fallbacks,
        "kernel_values": values_of_set + values,
    }


def product_of_set(
    run: RunFolder, attempt: Attempt, *, stage: str, part: int, parts: int
) -> Record:
    """Compute the products of a share of the affected rows with the step of the working set.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of the round.
    part, parts : int
        The share and the number of shares.
    """
    problem = read_problem(run)
    solved = run.node(stage, SOLVE)
    start, stop = share(solved.record["others"], part, parts)
    mine = solved.read("others", slice(start, stop))
    F, values = kernel_product(
        problem.settings.kernel,
        problem.take(mine),
        problem.take(solved.read("moved")),
        solved.read("step"),
    )
    attempt.write("F", F)
    return {"rows": len(mine), "kernel_values": values}


def take_step(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    previous: str,
    number: int,
    parts: int,
    tol: float,
) -> Record:
    """Commit the point after the step of the working set, and choose the next working set.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, previous : str
        The stages of the round and of the round before.
    number : int
        Number of the round.
    parts : int
        Number of shares of the products.
    tol : float
        Tolerance of the chain.
    """
    problem = read_problem(run)
    before, solved = run.node(previous, "commit"), run.node(stage, SOLVE)
    index, others = before.read("block_rows"), solved.read("others")
    f, expected = before.read("f"), before.read("expected")
    F = [run.node(stage, f"product-{part:04d}").read("F") for part in range(parts)]
    f[index] = solved.read("f")
    f[others] += np.concatenate(F)
    active = np.zeros(problem.n, dtype=np.bool_)
    active[index] = active[others] = True
    expected[active] = f[active]
    point = Point(
        np.arange(problem.n),
        solved.read("beta")[0],
        f,
        expected=expected,
        active=active,
        furthest=solved.record["furthest"],
    )
    record = commit_point(problem, attempt, point, number=number, tol=tol, local=False)
    return {
        **record,
        "from_scratch": False,
        "moved": solved.record["moved"],
        "resting": int(np.count_nonzero(~active)),
    }
