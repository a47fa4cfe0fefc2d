"""The nodes of a round where the bias is free: the variables of every commit add up to zero.

The multiplier of that sum is the bias; see `dcsvm_dask.solvers.linear.free_bias`. In a part of the
rows it stands still, so that parts descend as with a constant feature; the free rows that are kept
of all parts settle it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.dcd.commits import commit_svms
from dcsvm_dask.methods.dcd.joint import joined_steps
from dcsvm_dask.methods.dcd.nodes import KEPT_PASSES
from dcsvm_dask.methods.dcd.points import (
    DESCEND,
    JOIN,
    MEASURE,
    SLOPES,
    Vector,
    ends,
    moved,
    name_of,
    variables,
)
from dcsvm_dask.methods.linear.rows import PartRows, dual_of, part_of
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.progress import pass_reporter
from dcsvm_dask.random_streams import DESCENT, generator
from dcsvm_dask.solvers import (
    approach_free,
    descend_free,
    gradient_part,
    standing,
    sum_part,
)
from dcsvm_dask.solvers.linear.free_bias import balanced
from dcsvm_dask.solvers.linear.visits import Order, Visits
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


def descend_alone(
    run: RunFolder,
    attempt: Attempt,
    *,
    number: int,
    machine: int,
    previous: str | None,
    chunks: int,
    constant: float,
    tol: float,
    order: Order,
    shrinking: bool,
    most_visits: int,
) -> Record:
    """Descend over all variables, from where the round before has ended; they are one part.

    Writes ``alpha``, what it gives to w (``sum``), and its ``gradient`` without a bias.

    Parameters
    ----------
    constant : float
        Square root of rho, the step of the multiplier; above 0.
    run, attempt, number, machine, previous, chunks, tol, order, shrinking, most_visits
        As for `dcsvm_dask.methods.dcd.nodes.descend`.
    """
    problem = read_problem(run)
    index = part_of(problem, 0, 1)
    dual, rows = dual_of(problem, machine, index), PartRows(problem, 0, problem.n, chunks)
    rng = generator(problem.settings.seed, DESCENT, number, machine, 0)
    found = descend_free(
        rows,
        dual,
        variables(run, previous, machine, index),
        _bias_of(run, previous, machine),
        constant=constant,
        tol=tol,
        most_visits=most_visits,
        visits=Visits(order, 1.0 if shrinking else np.inf),
        seed=int(rng.integers(1 << 62)),
        callback=pass_reporter(tol),
    )
    attempt.write("alpha", found.beta)
    attempt.write("sum", found.w)
    assert found.gradient is not None
    attempt.write("gradient", found.gradient)
    return {"passes": found.passes, "rows": len(index)}


def join_free(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    number: int,
    machine: int,
    previous: str | None,
    parts: int,
    constant: float,
    tol: float,
    most_visits: int,
) -> Record:
    """Join the steps of all parts, settle the bias by the rows that were kept; balance the point.

    Writes ``alpha`` of all rows.

    Parameters
    ----------
    run, attempt, stage, number, machine, previous, parts, constant, tol, most_visits
        As for `dcsvm_dask.methods.dcd.nodes.join_steps`.
    """
    problem = read_problem(run)
    joint = joined_steps(run, problem, stage, previous, machine, parts)
    bias, passes = _bias_of(run, previous, machine), 0
    pieces = []
    for part in range(parts):
        end = run.node(stage, name_of(DESCEND, machine, part)).read("alpha")
        start = variables(run, previous, machine, part_of(problem, part, parts))
        pieces.append(moved(start, end, joint.factors[part]))
    dual = dual_of(problem, machine, part_of(problem, 0, 1))
    beta = dual.clip(np.concatenate(pieces))
    if len(joint.beta):
        # Parts had the multiplier as a weight that does not move.
        others = joint.w - sum_part((joint.rows,), joint.dual, joint.beta, constant=constant)
        others[-1] -= bias / constant
        rng = generator(problem.settings.seed, DESCENT, number, machine, parts)
        found = approach_free(
            joint.rows,
            joint.dual,
            joint.beta,
            bias,
            others,
            constant=constant,
            tol=tol,
            most_visits=max(KEPT_PASSES * len(joint.beta), most_visits),
            seed=int(rng.integers(1 << 62)),
        )
        beta[np.concatenate(joint.kept)] = found.beta
        passes = found.passes
    attempt.write("alpha", balanced(beta, dual))
    return {"kept": len(joint.beta), "kept_passes": passes, "decrease": joint.decrease}


def sum_rows(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    machine: int,
    part: int,
    parts: int,
    chunks: int,
    constant: float,
) -> Record:
    """Sum what the rows of a part give to w where the joint step leads.

    Writes ``alpha``, and ``sum``.

    Parameters
    ----------
    run, attempt, stage, machine, part, parts, chunks, constant
        As for `dcsvm_dask.methods.dcd.nodes.measure`.
    """
    problem = read_problem(run)
    index = part_of(problem, part, parts)
    dual, rows = dual_of(problem, machine, index), PartRows(problem, *ends(index), chunks)
    beta = run.node(stage, name_of(JOIN, machine)).read("alpha", slice(*ends(index)))
    attempt.write("alpha", beta)
    attempt.write("sum", sum_part(rows, dual, beta, constant=constant))
    return {"rows": len(index)}


def measure_slopes(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    machine: int,
    part: int,
    parts: int,
    chunks: int,
    constant: float,
) -> Record:
    """Measure the slopes of a part's variables at the w of all rows.

    Writes ``gradient``, without a bias.

    Parameters
    ----------
    run, attempt, stage, machine, part, parts, chunks, constant
        As for `sum_rows`.
    """
    problem = read_problem(run)
    index = part_of(problem, part, parts)
    dual, rows = dual_of(problem, machine, index), PartRows(problem, *ends(index), chunks)
    nodes = [run.node(stage, name_of(MEASURE, machine, one)) for one in range(parts)]
    w = np.stack([node.read("sum") for node in nodes]).sum(axis=0)
    beta = nodes[part].read("alpha")
    attempt.write("gradient", gradient_part(rows, dual, beta, w, constant=constant))
    return {"rows": len(index)}


def commit_free(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    previous: str | None,
    machines: list[int],
    parts: int,
    constant: float,
    tol: float,
) -> Record:
    """Commit where a round has led: variables of all SVMs, their w and bias, and how far they are.

    As `dcsvm_dask.methods.dcd.nodes.commit_round`. ``sums_i`` has the bias as what a further part
    gives to w. Violations are those of LIBSVM, gaps are between the primal value at the best bias
    and the dual value.
    """
    problem = read_problem(run)

    def stand(
        machine: int, alpha: Vector, sums: NDArray[np.float64]
    ) -> tuple[Record, NDArray[np.float64]]:
        dual = dual_of(problem, machine, part_of(problem, 0, 1))
        layer = DESCEND if parts == 1 else SLOPES
        nodes = [run.node(stage, name_of(layer, machine, part)) for part in range(parts)]
        gradient = np.concatenate([node.read("gradient") for node in nodes])
        found = standing(gradient, alpha, sums.sum(axis=0)[:-1], dual)
        multiplier = np.zeros_like(sums[:1])
        multiplier[0, -1] = found.bias / constant
        record = {
            "objective": found.objective,
            "gap": found.gap,
            "violation": found.violation,
            "bias": found.bias,
            "bounded": int(np.count_nonzero(dual.is_bounded(alpha))),
        }
        return record, np.concatenate([sums, multiplier])

    return commit_svms(
        run, attempt, stand, stage=stage, previous=previous, machines=machines, parts=parts, tol=tol
    )


def _bias_of(run: RunFolder, previous: str | None, machine: int) -> float:
    """Return the bias where a round starts."""
    if previous is None:
        return 0.0
    return float(run.node(previous, "commit").record["of_svms"][machine]["bias"])
