"""Several SVMs on all rows, each solved whole; they share support vectors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.dcsvm.classes.blocks import read_start
from dcsvm_dask.methods.dcsvm.whole_problem import start_blocks
from dcsvm_dask.methods.isolated import isolation
from dcsvm_dask.methods.machines import AnyMachine, task_of_machine
from dcsvm_dask.methods.problem import ARRANGE, Problem, chunks_in_data_order, decided, read_problem
from dcsvm_dask.methods.progress import violation_reporter
from dcsvm_dask.methods.repeats import spread
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.run_data import data_of
from dcsvm_dask.methods.solved import SolvedBlocks, SolvedRecord
from dcsvm_dask.solvers import Machine, Output, Solution, solve_nu, solve_whole
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.tasks import crossing, output_names

Index = NDArray[np.int64]

SOLVE = "solve"
OF_MACHINES = ("objective", "violation", "iterations")
"""What the commit says of each machine."""
OF_SVMS = (*OF_MACHINES, "bias", "own_gap", "converged", "bounded")
"""What a task says of each of its SVMs."""
NAMES = {"ovo": "pairs", "ovr": "rest", "outputs": "quantiles"}
"""What a run's SVMs are called in its stages."""


def node_of(machine: AnyMachine) -> str:
    """Return the name of the node that solves a machine, and maybe others after it."""
    if isinstance(machine, Output):
        return f"{SOLVE}-{machine.number:04d}"
    against = "" if machine.negative is None else f"-{machine.negative:04d}"
    return f"{SOLVE}-{machine.positive:04d}{against}"


def solve_machines_of(
    run: RunFolder,
    attempt: Attempt,
    *,
    numbers: list[int],
    source: str | None,
    tol: float,
) -> Record:
    """Solve some of the SVMs, each on all of its variables.

    Writes the ``support`` vectors of each, as numbers of variables, ascending, and their ``coef``,
    one SVM after the other, and the ``counts`` of support vectors; without classes also
    ``predicted``, the decision value of every variable, a row for each SVM. The record has the
    numbers of each SVM that its model and the commit need, as ``of_svms``.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    numbers : list of int
        Numbers of the SVMs, in the order of the scheme.
    source : str or None
        The level, or the stage like this one, whose coefficients are the warm start; None: none.
    tol : float
    """
    problem, solved = read_problem(run), SolvedBlocks(numbers)
    support, coef, predicted = [], [], []
    for number in numbers:
        index, solution = solved.add(
            number, partial(_solve_whole, problem, run, number, source, tol)
        )
        own = np.flatnonzero(solution.beta)
        support.append(index[own])
        coef.append(solution.beta[own])
        if not problem.task.has_classes:
            # The gradient is the prediction less the target: the problem has no ridge.
            predicted.append(solution.gradient + solution.bias + problem.targets)
    attempt.write("support", np.concatenate(support))
    attempt.write("coef", np.concatenate(coef))
    attempt.write("counts", np.array([len(own) for own in support], np.int64))
    if predicted:
        attempt.write("predicted", np.array(predicted))
    of_svms = {
        key: [record[key] for record in solved.records]
        for key in (*OF_SVMS, *(("multiplier",) if problem.first_epsilons else ()))
    }
    return {**solved.to_json(), "of_svms": of_svms}


def _solve_whole(
    problem: Problem, run: RunFolder, number: int, source: str | None, tol: float
) -> tuple[tuple[Index, Solution], Record]:
    if problem.first_epsilons:
        return _solve_nu(problem, run, number, source, tol)
    settings, machine = problem.settings, problem.machines[number]
    index, y = machine.rows(problem.codes)
    dual = task_of_machine(problem.task, machine).dual(y, problem.bounds(index))
    X, beta, blocks = problem.solved_rows(problem.take(index)), None, None
    if source is not None:
        beta = read_start(run, source).beta(machine, index, problem.codes[index])
    else:
        blocks = start_blocks(settings, X, number)
    equality = settings.fit_intercept
    solution, values = solve_whole(
        settings.kernel,
        X,
        dual,
        beta=beta,
        blocks=blocks,
        equality=equality,
        tol=tol,
        working_size=settings.set_cap,
        inner=settings.inner,
        seed=settings.seed,
        threads=threads(alone=len(problem.machines) == 1),
        callback=violation_reporter(tol),
    )
    record = SolvedRecord.of(
        dual, solution, bias=solution.bias, equality=equality, kernel_values=values
    )
    more = {"bias": solution.bias + problem.task.centre}
    return (index, solution), {**record.to_json(), **more}


def _solve_nu(
    problem: Problem, run: RunFolder, number: int, source: str | None, tol: float
) -> tuple[tuple[Index, Solution], Record]:
    """Solve a nu-SVC; its solution is in the scale in which it decides."""
    settings, machine, task = problem.settings, problem.machines[number], problem.task
    assert isinstance(machine, Machine)
    index, y = machine.rows(problem.codes)
    beta, C = None, problem.bounds(index)
    if source is not None:
        beta = read_start(run, source).beta(machine, index, problem.codes[index])
        if StageId(source).is_level:
            beta = beta * task.decision_scale(problem.first_epsilons[number])
        else:
            of_machines = run.node(source, "commit").record[f"of_{NAMES[problem.scheme.name]}"]
            beta = beta * of_machines["multiplier"][number]
    found = solve_nu(
        settings.kernel,
        problem.take(index),
        y,
        C,
        task,
        beta=beta,
        tol=tol,
        working_size=settings.set_cap,
        inner=settings.inner,
        seed=settings.seed,
        threads=threads(alone=len(problem.machines) == 1),
        callback=violation_reporter(tol),
        classes=machine.names(data_of(run).classes),
    )
    dual = decided(task, y, C, -found.multiplier)
    record = SolvedRecord.of(
        dual,
        replace(found.solution, gradient=found.solution.gradient + dual.p),
        bias=found.solution.bias,
        equality=True,
        kernel_values=found.kernel_values,
    )
    more = {"bias": found.solution.bias + task.centre, "multiplier": found.multiplier}
    return (index, found.solution), {**record.to_json(), **more}


def commit_machines(
    run: RunFolder, attempt: Attempt, *, stage: str, nodes: list[str], tol: float
) -> Record:
    """Commit the model of all SVMs, and ``alpha`` of every row with its sign in each of its SVMs.

    Writes their ``support`` vectors, too, as numbers of variables.

    Of nu-SVCs the entries of machines have their ``multiplier`` rho, by which they are divided.
    Row k of ``alpha`` belongs to the SVM that `Machine.place` names; values are positive where the
    row's class is the positive one. Without classes they are beta. Of several quantiles the record
    has ``crossing``, the share of rows on which they cross.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of the SVMs.
    nodes : list of str
        Names of the nodes that solved them.
    tol : float
        To which they were solved.
    """
    problem = read_problem(run)
    scheme, names, crosses = problem.scheme, output_names(problem.task), {}
    coef = np.zeros((scheme.n_coefficients, problem.n))
    records: list[Record] = [{} for _ in problem.machines]
    predicted: dict[int, NDArray[np.float64]] = {}
    for name in nodes:
        node = run.node(stage, name)
        numbers, stops = node.record["members"], np.cumsum(node.read("counts"))[:-1]
        several = (np.split(node.read(key), stops) for key in ("support", "coef"))
        for i, (number, support, values) in enumerate(zip(numbers, *several, strict=True)):
            coef[problem.machines[number].place(problem.codes[support]), support] = values
            records[number] = {key: of_all[i] for key, of_all in node.record["of_svms"].items()}
        if names:
            predicted.update(zip(numbers, node.read("predicted"), strict=True))
    arranged = run.node(ARRANGE, "commit")
    each = np.zeros((len(coef), arranged.record["rows"]))
    each[:, problem.rows] = coef / problem.weights
    attempt.write("alpha", spread(run, arranged, each))
    support = np.flatnonzero(coef.any(axis=0))
    groups = problem.groups_of(support)
    order = np.lexsort((problem.rows[support], groups))
    support = support[order]
    attempt.write("support", support)
    if names:
        ordered = [predicted[number] for number in range(len(problem.machines))]
        crosses = {"crossing": crossing(np.array(ordered).T, problem.weights)}
    model = write_model(
        attempt,
        chunks_in_data_order(run, problem, support),
        coef[:, support],
        np.bincount(groups, minlength=scheme.n_groups)[None, :],
        np.array([[record["bias"] for record in records]]),
        scheme=scheme,
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
    )
    return {
        NAMES[scheme.name]: len(problem.machines),
        "rows": problem.n,
        "support": len(support),
        "objective": sum(record["objective"] for record in records),
        "gap": sum(record["own_gap"] for record in records),
        "violation": max(record["violation"] for record in records),
        "converged": all(record["converged"] for record in records),
        "tol": tol,
        f"of_{NAMES[scheme.name]}": {
            **({"name": names} if names else {}),
            **{
                key: [record[key] for record in records]
                for key in (*OF_MACHINES, *(("multiplier",) if problem.first_epsilons else ()))
            },
        },
        **{key: sum(record[key] for record in records) for key in ("iterations", "bounded")},
        **crosses,
        **isolation(problem, support),
        **model,
    }
