"""A level of many classes: the machines of every block, and what they come to together."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.models.blocks import BlocksModel
from dcsvm_dask.models.classes import MODELS
from dcsvm_dask.solvers import coefficient_rows
from dcsvm_dask.steps.block_table import BlockTable, read_slots, read_table
from dcsvm_dask.steps.class_blocks import solve_machines_of
from dcsvm_dask.steps.class_estimate import estimate_classes
from dcsvm_dask.steps.class_start import read_start
from dcsvm_dask.steps.level import rows_in_chunks
from dcsvm_dask.steps.partition import mass_record, read_rule
from dcsvm_dask.steps.problem import ARRANGE, read_classes
from dcsvm_dask.steps.regime import regime
from dcsvm_dask.steps.solve import EACH
from dcsvm_dask.steps.telling import Telling
from dcsvm_dask.storage.model import write_classes
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

SUMS = ("blocks", "rows", "support", "bounded", "objective", "own_gap", "iterations")


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
    problem, table = read_classes(run), read_table(run, stage)
    start = None if below is None else read_start(run, below)
    blocks = table.of_slot(None, None, slot, slots).tolist()
    settings = problem.settings
    tol = settings.alone_tol if table.alone else settings.level_tol
    telling, solved, each = Telling(blocks), [], dict[str, list[Any]]((key, []) for key in EACH)
    for block in blocks:
        begin = time.perf_counter()
        solved.append(solve_machines_of(problem, table.rows(block), start, tol))
        about = {**solved[-1].record, "seconds": time.perf_counter() - begin}
        for key in EACH:
            each[key].append(about[key])
        telling.solved(block, {key: about[key] for key in EACH})
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
    return {**sum_blocks([s.record for s in solved]), "members": blocks, "each": each}


def commit_class_level(
    run: RunFolder, attempt: Attempt, *, stage: str, slots: int, below: str | None
) -> Record:
    """Gather a level's blocks: totals, estimates and the early model.

    Writes ``support``, the variables that are the model's support vectors, in its order.
    """
    del below
    problem, table = read_classes(run), read_table(run, stage)
    nodes = read_slots(run, stage, slots)
    of_class, class_rows, offsets = (
        _by_block(nodes, table, name) for name in ("of_class", "class_rows", "bias")
    )
    support, coef = _support(nodes, of_class.sum(axis=1))
    attempt.write("support", support)
    rule = read_rule(run, ARRANGE if table.index is None else stage)
    block_of_label = np.full(rule.n_blocks, -1, dtype=np.int64)
    block_of_label[table.label] = np.arange(table.n_blocks)
    scheme = problem.settings.multiclass
    chosen: dict[str, Any] = {
        "class_rows": class_rows,
        "partition": rule,
        "block_of_label": block_of_label,
    }
    stored = write_classes(
        attempt,
        rows_in_chunks(problem, support),
        coef,
        of_class,
        offsets,
        scheme=scheme,
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
        **chosen,
    )
    total = sum_blocks([node.record for node in nodes])
    held = (problem.settings.kernel, problem.take(support), coef, of_class, offsets)
    model = BlocksModel.of(MODELS[scheme], *held, **chosen)
    record = {
        **total,
        "machines": len(problem.machines),
        **estimate_classes(problem, table, model, support, coef, total),
        **mass_record(problem, table),
        "alone": table.alone,
    }
    return {**record, **regime(record), **stored}


def sum_blocks(records: list[Record]) -> Record:
    """Add up what blocks or slots counted."""
    return {
        **{key: sum(record[key] for record in records) for key in (*SUMS, "kernel_values")},
        "violation": max((record["violation"] for record in records), default=0.0),
        "converged": all(record["converged"] for record in records),
    }


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
