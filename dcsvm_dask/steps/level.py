"""Committing a level: all alphas, how good they are for the whole problem, a model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows
from dcsvm_dask.steps.block_table import gather, read_slots, read_table
from dcsvm_dask.steps.estimate import estimate
from dcsvm_dask.steps.partition import mass_record, read_rule
from dcsvm_dask.steps.problem import ARRANGE, Variables, read_problem
from dcsvm_dask.steps.regime import regime
from dcsvm_dask.steps.shared_bias import next_bias
from dcsvm_dask.steps.solve import sum_records
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

SUPPORT_CHUNK_ROWS = 4096
# Blocks with at least this share of the support vectors tell how all of them answer to the bias.
ANSWERING = 0.1


def commit_level(
    run: RunFolder, attempt: Attempt, *, stage: str, slots: int, below: str | None
) -> Record:
    """Gather a level's blocks: alpha of every variable, totals, estimates and the early model."""
    problem = read_problem(run)
    table = read_table(run, stage)
    nodes = read_slots(run, stage, slots)
    in_blocks, alpha = gather(nodes, table, "alpha")
    attempt.write("alpha", alpha[None, :])
    with_intercept = problem.settings.fit_intercept
    if with_intercept:
        attempt.write("gradient", gather(nodes, table, "gradient")[1])
    rule = read_rule(run, ARRANGE if table.index is None else stage)
    block_of_label = np.full(rule.n_blocks, -1, dtype=np.int64)
    block_of_label[table.label] = np.arange(table.n_blocks)
    chosen = np.flatnonzero(in_blocks > 0)
    support = table.variables(chosen)
    bias = np.zeros(table.n_blocks)
    if with_intercept:
        for node in nodes:
            bias[node.record["members"]] = node.record["biases"]
    model = write_model(
        attempt,
        rows_in_chunks(problem, support),
        problem.labels(support) * alpha[support],
        np.searchsorted(chosen, table.offsets).astype(np.int64),
        bias,
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
        partition=rule,
        block_of_label=block_of_label,
    )
    total = sum_records([node.record for node in nodes])
    before = {"next_bias": 0.0, "slope": 0.0} if below is None else run.node(below, "commit").record
    offset, slope = before["next_bias"], before["slope"]
    if total["answering"] >= ANSWERING * total["support"] > 0:
        slope = total["slope"] * total["support"] / total["answering"]
    record = {
        **total,
        "offset": offset,
        "slope": slope,
        "next_bias": next_bias(offset, total["balance"], slope) if with_intercept else 0.0,
        **estimate(problem, table, alpha, total, offset if with_intercept else 0.0),
        **mass_record(problem, table),
        "alone": table.alone,
        "bounded": int(np.count_nonzero(alpha[support] >= problem.bounds(support))),
    }
    return {**record, **regime(record), **model}


def rows_in_chunks(problem: Variables, index: NDArray[np.int64]) -> Iterator[Rows]:
    """Yield the rows of some variables a few at a time."""
    for start in range(0, len(index), SUPPORT_CHUNK_ROWS):
        yield problem.take(index[start : start + SUPPORT_CHUNK_ROWS])
