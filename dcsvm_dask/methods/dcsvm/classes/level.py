"""A level of many classes: the SVMs of every block, and how good they are for the whole problem."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.block_table import BlockTable, read_slots, read_table
from dcsvm_dask.methods.dcsvm.classes.blocks import read_start, solve_svms_of
from dcsvm_dask.methods.dcsvm.level import ESTIMATE_ROWS, ROUNDING, rows_in_chunks, total_of
from dcsvm_dask.methods.partition import mass_record, read_rule
from dcsvm_dask.methods.problem import ARRANGE, Problem, read_problem
from dcsvm_dask.methods.regime import regime
from dcsvm_dask.methods.solved import SolvedBlocks, summed
from dcsvm_dask.models.model import Model, Rule
from dcsvm_dask.models.schemes import scheme_for
from dcsvm_dask.random_streams import ESTIMATE, generator
from dcsvm_dask.solvers import coefficient_rows, labels_of_classes
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder

# Decision values that are estimated: fewer rows of many machines.
MOST_VALUES, LEAST_ROWS = 1 << 21, 256

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def estimate_classes(
    problem: Problem,
    table: BlockTable,
    model: Model,
    support: Index,
    coef: NDArray[np.float64],
    own: Record,
) -> Record:
    """Estimate objective and duality gap of all machines together, at a seeded sample of rows.

    As `estimate` does for two classes, each row with all of its machines. With a bias the gap is
    that at the mean of the blocks' biases: any gives a bound.

    Parameters
    ----------
    support, coef : ndarray
        The variables that are support vectors, and their coefficients.
    own : dict
        Sums of the blocks' solutions: ``objective``, ``own_gap``.
    """
    rng = generator(problem.settings.seed, ESTIMATE)
    size = max(LEAST_ROWS, min(ESTIMATE_ROWS // 2, MOST_VALUES // len(problem.machines)))
    rows = np.sort(rng.choice(problem.n, size=min(problem.n, size), replace=False))
    weights = np.abs(coef).sum(axis=0)
    drawn = np.arange(len(support))
    if len(drawn) > size:
        drawn = rng.choice(len(support), size=size, p=weights / weights.sum())
    looked_at, where = np.unique(np.concatenate([rows, support[drawn]]), return_inverse=True)
    X, blocks = problem.take(looked_at), table.blocks_of(looked_at)
    f, f_own = model.sums(X), model.own_sums(X, blocks)
    labels = labels_of_classes(problem.n_classes, model.scheme.name)
    at, of_drawn = where[: len(rows)], where[len(rows) :]
    y, C = labels[problem.codes[rows]].astype(np.float64), problem.bounds(rows)
    dual = problem.task.dual(y, C[:, None])
    offsets = model.bias
    losses = [
        dual.losses((found[at] + offset) + dual.p).sum(axis=1)
        for found, offset in ((f, _mean(offsets, model, labels)), (f_own, offsets[blocks[at]]))
    ]
    hinge, hinge_error = total_of(losses[0] - losses[1], problem.n)
    # Of each support vector the sum of y alpha (f - f_own) over its machines.
    mine = np.zeros((len(drawn), len(problem.machines)))
    codes = problem.codes[support[drawn]]
    for number, machine in enumerate(problem.machines):
        has = np.flatnonzero(labels[codes, number])
        mine[has, number] = coef[machine.place(codes[has]), drawn[has]]
    between = (mine * (f - f_own)[of_drawn]).sum(axis=1)
    if len(drawn) == len(support):
        quadratic, error = float(between.sum()), 0.0
    else:
        each = between / weights[drawn] * weights.sum()
        quadratic, error = float(each.mean()), float(each.std()) / np.sqrt(len(drawn))
    if 0.5 * error < ROUNDING * abs(own["objective"]):  # blocks that do not see each other
        error = 0.0
    return {
        "objective_estimate": own["objective"] + 0.5 * quadratic,
        "objective_error": 0.5 * error,
        "gap_estimate": max(0.0, own["own_gap"] + quadratic + hinge),
        "gap_error": float(np.hypot(error, hinge_error)),
        "estimate_kernel_values": len(looked_at) * len(support),
    }


def _mean(offsets: Vector, model: Model, labels: NDArray[np.int8]) -> Vector:
    """Return the mean bias of each machine over the blocks that have rows of both its sides."""
    assert model.rule is not None
    assert model.rule.class_rows is not None
    positive, negative = (model.rule.class_rows @ (labels == side) for side in (1, -1))
    weight = np.where((positive > 0) & (negative > 0), positive + negative, 0)
    return np.asarray((weight * offsets).sum(axis=0) / np.maximum(1, weight.sum(axis=0)))


def solve_class_slot(
    run: RunFolder, attempt: Attempt, *, stage: str, slot: int, slots: int, below: str | None
) -> Record:
    """Solve all machines of every `slots`-th block of a level.

    A block is one task with all of its machines, not a task for each: so its kernel values are
    computed once, and its rows are read once.

    Writes the ``support`` vectors of the blocks, one block after the other, as numbers of
    variables, and their ``coef``; for each block ``of_class`` (support vectors), ``class_rows`` and
    ``bias``.
    """
    problem, table = read_problem(run), read_table(run, stage)
    start = None if below is None else read_start(run, below)
    blocks = table.of_slot(None, None, slot, slots).tolist()
    settings = problem.settings
    tol = settings.alone_tol if table.alone else settings.level_tol
    log = SolvedBlocks(blocks)
    solved = [
        log.add(block, partial(solve_svms_of, problem, table.rows(block), start, tol))
        for block in blocks
    ]
    height = coefficient_rows(problem.n_classes, settings.multiclass)
    none = np.empty((height, 0))
    attempt.write("support", np.concatenate([np.empty(0, np.int64), *(s.support for s in solved)]))
    attempt.write("coef", np.concatenate([none, *(s.coef for s in solved)], axis=1))
    of_class = [
        np.bincount(problem.codes[one.support], minlength=problem.n_classes) for one in solved
    ]
    shape = (len(solved), problem.n_classes)
    attempt.write("of_class", np.array(of_class, np.int64).reshape(shape))
    attempt.write("class_rows", np.array([s.class_rows for s in solved], np.int64).reshape(shape))
    width = len(problem.machines)
    attempt.write("bias", np.array([s.bias for s in solved]).reshape(len(solved), width))
    return log.to_json()


def commit_class_level(
    run: RunFolder, attempt: Attempt, *, stage: str, slots: int, below: str | None
) -> Record:
    """Gather a level's blocks: totals, estimates and the early model.

    Writes ``support``, the variables that are the model's support vectors, in its order.
    """
    del below
    problem, table = read_problem(run), read_table(run, stage)
    nodes = read_slots(run, stage, slots)
    of_class, class_rows, offsets = (
        _by_block(nodes, table, name) for name in ("of_class", "class_rows", "bias")
    )
    support, coef = _support(nodes, of_class.sum(axis=1))
    attempt.write("support", support)
    rule = read_rule(run, ARRANGE if table.index is None else stage)
    block_of_label = np.full(rule.n_blocks, -1, dtype=np.int64)
    block_of_label[table.label] = np.arange(table.n_blocks)
    chosen: dict[str, Any] = {
        "scheme": scheme_for(problem.n_classes, problem.settings.multiclass),
        "rule": Rule(rule, block_of_label, class_rows),
    }
    stored = write_model(
        attempt,
        rows_in_chunks(problem, support),
        coef,
        of_class,
        offsets,
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
        **chosen,
    )
    total = summed(node.record for node in nodes)
    arrays = (problem.settings.kernel, problem.take(support), coef, of_class, offsets)
    model = Model(*arrays, **chosen)
    record = {
        **total,
        "machines": len(problem.machines),
        **estimate_classes(problem, table, model, support, coef, total),
        **mass_record(problem, table),
        "alone": table.alone,
    }
    return {**record, **regime(record), **stored}


def _by_block(nodes: list[Committed], table: BlockTable, name: str) -> NDArray[Any]:
    """Return an array with a row for each block."""
    members = np.concatenate([node.record["members"] for node in nodes]).astype(np.int64)
    rows = np.concatenate([node.read(name) for node in nodes])
    found = np.empty((table.n_blocks, rows.shape[1]), rows.dtype)
    found[members] = rows
    return found


def _support(nodes: list[Committed], counts: Index) -> tuple[Index, NDArray[np.float64]]:
    """Return support vectors and coefficients of all slots, block after block."""
    members = np.concatenate([node.record["members"] for node in nodes]).astype(np.int64)
    # Where each block's are among those of all slots, and where they go.
    stops = np.cumsum(counts[members])
    begin = np.empty(len(counts), np.int64)
    begin[members] = stops - counts[members]
    order = np.concatenate(
        [np.arange(first, first + many) for first, many in zip(begin, counts, strict=True)]
    ).astype(np.int64)
    support = np.concatenate([node.read("support") for node in nodes])
    coef = np.concatenate([node.read("coef") for node in nodes], axis=1)
    return support[order], coef[:, order]
