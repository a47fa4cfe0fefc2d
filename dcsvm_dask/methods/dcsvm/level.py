"""Committing a level: all variables, a model, estimates of objective and gap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, kernel_product
from dcsvm_dask.methods.block_table import BlockTable, gather, read_slots, read_table
from dcsvm_dask.methods.dcsvm.blocks import OTHERS, next_bias
from dcsvm_dask.methods.partition import mass_record, read_rule
from dcsvm_dask.methods.problem import ARRANGE, Problem, read_problem
from dcsvm_dask.methods.regime import regime
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.solved import summed
from dcsvm_dask.models.model import Rule
from dcsvm_dask.random_streams import ESTIMATE, generator
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

ESTIMATE_ROWS = 4096
# What skipping far pairs may change about f at such a row: little beside the margin, 1.
ESTIMATE_ERROR = 1e-3
# Of the objective: less is rounding.
ROUNDING = 1e-12
# Support vectors in memory at a time.
ESTIMATE_SUPPORT_ROWS = 262_144


def estimate(
    problem: Problem, table: BlockTable, beta: Vector, own: Record, offset: float
) -> Record:
    """Estimate objective and duality gap of the whole problem at a seeded sample of rows.

    Both are sums over rows. What a row adds to them is known exactly as far as it comes from its
    own block, and that sums up to what the blocks' solutions say; only what other blocks add is
    estimated. Of that the quadratic form is a sum over support vectors, drawn with probabilities
    as their sizes; the hinge losses are a sum over all rows, drawn uniformly.

    Parameters
    ----------
    own : dict
        Sums of the blocks' solutions: ``objective``, ``own_gap``.
    offset : float
        The bias for which the blocks were solved; 0 without one.

    Returns
    -------
    dict
        ``objective_estimate``, ``gap_estimate`` (with a bias that at `offset`) and their standard
        errors, ``estimate_kernel_values``.
    """
    rng = generator(problem.settings.seed, ESTIMATE)
    rows, drawn = _sample(problem.n, beta, rng)
    looked_at, where = np.unique(np.concatenate([rows, drawn]), return_inverse=True)
    f, f_own, values = _decide(problem, table, beta, looked_at)
    at, of_drawn = where[: len(rows)], where[len(rows) :]
    dual = problem.dual_of(rows)
    losses = [dual.losses((found[at] + offset) + dual.p) for found in (f, f_own)]
    hinge, hinge_error = total_of(losses[0] - losses[1], problem.n)
    between = np.sign(beta[drawn]) * (f - f_own)[of_drawn]
    if len(drawn) == np.count_nonzero(beta):
        quadratic, error = float(np.dot(np.abs(beta[drawn]), between)), 0.0
    else:
        size = float(np.abs(beta).sum())
        quadratic = size * float(between.mean())
        error = size * float(between.std()) / np.sqrt(len(drawn))
    if 0.5 * error < ROUNDING * abs(own["objective"]):  # blocks that do not see each other
        error = 0.0
    return {
        "objective_estimate": own["objective"] + 0.5 * quadratic,
        "objective_error": 0.5 * error,
        "gap_estimate": max(0.0, own["own_gap"] + quadratic + hinge),
        "gap_error": float(np.hypot(error, hinge_error)),
        "estimate_kernel_values": values,
    }


def _sample(n: int, beta: Vector, rng: np.random.Generator) -> tuple[Index, Index]:
    """Draw rows uniformly, and support vectors by their sizes; all of them where they are few."""
    size, support = ESTIMATE_ROWS // 2, np.flatnonzero(beta)
    rows = np.arange(n) if n <= ESTIMATE_ROWS else rng.choice(n, size=size, replace=False)
    if n <= ESTIMATE_ROWS or len(support) <= size:
        return rows, support
    weight = np.abs(beta[support])
    return rows, rng.choice(support, size=size, p=weight / weight.sum())


def total_of(sample: Vector, n: int) -> tuple[float, float]:
    """Return the sum over n rows and its standard error, from a sample without repeats."""
    size = len(sample)
    error = n * float(sample.std()) / np.sqrt(size) * np.sqrt(1.0 - size / n)
    return n * float(sample.mean()), float(error)


def _decide(
    problem: Problem, table: BlockTable, beta: Vector, sample: Index
) -> tuple[Vector, Vector, int]:
    """Return f at some rows, the part of it from their own blocks, and the kernel values."""
    support = np.flatnonzero(beta)
    X, f, own, values = problem.take(sample), np.zeros(len(sample)), np.zeros(len(sample)), 0
    blocks = table.blocks_of(sample)
    for start in range(0, len(support), ESTIMATE_SUPPORT_ROWS):
        some = support[start : start + ESTIMATE_SUPPORT_ROWS]
        Z, v = problem.take(some), beta[some]
        part, computed = kernel_product(
            problem.settings.kernel,
            X,
            Z,
            v,
            budget=ESTIMATE_ERROR * len(some) / len(support),
            threads=threads(),
        )
        f += part
        values += computed
        values += _add_own(problem, X, blocks, Z, v, table.blocks_of(some), own)
    return f, own, values


def _add_own(
    problem: Problem,
    X: Rows,
    blocks: NDArray[np.int32],
    Z: Rows,
    v: Vector,
    blocks_of_support: NDArray[np.int32],
    own: Vector,
) -> int:
    """Add what support vectors of the same block give; return the kernel values."""
    order = np.argsort(blocks_of_support, kind="stable")
    sorted_blocks, values = blocks_of_support[order], 0
    for block in np.unique(blocks):
        here = np.flatnonzero(blocks == block)
        first, last = np.searchsorted(sorted_blocks, [block, block + 1])
        columns = order[first:last]
        part, computed = kernel_product(problem.settings.kernel, X[here], Z[columns], v[columns])
        own[here] += part
        values += computed
    return values


SUPPORT_CHUNK_ROWS = 4096
# Blocks with at least this share of the support vectors tell how all of them answer to the bias.
ANSWERING = 0.1


def commit_level(
    run: RunFolder, attempt: Attempt, *, stage: str, slots: int, below: str | None
) -> Record:
    """Gather a level's blocks: every variable, totals, estimates and the early model."""
    problem = read_problem(run)
    table = read_table(run, stage)
    nodes = read_slots(run, stage, slots)
    in_blocks, beta = gather(nodes, table, "beta")
    attempt.write("beta", beta[None, :])
    with_intercept = problem.settings.fit_intercept
    if with_intercept:
        attempt.write("gradient", gather(nodes, table, "gradient")[1])
    rule = read_rule(run, ARRANGE if table.index is None else stage)
    block_of_label = np.full(rule.n_blocks, -1, dtype=np.int64)
    block_of_label[table.label] = np.arange(table.n_blocks)
    chosen = np.flatnonzero(in_blocks)
    support = table.variables(chosen)
    bias = np.zeros(table.n_blocks)
    if with_intercept:
        for node in nodes:
            bias[node.record["members"]] = node.record["biases"]
    model = write_model(
        attempt,
        rows_in_chunks(problem, support),
        beta[None, support],
        np.diff(np.searchsorted(chosen, table.offsets))[:, None],
        bias[:, None],
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
        rule=Rule(rule, block_of_label),
    )
    total = summed((node.record for node in nodes), *OTHERS)
    before = {"next_bias": 0.0, "slope": 0.0} if below is None else run.node(below, "commit").record
    offset, slope = before["next_bias"], before["slope"]
    if total["answering"] >= ANSWERING * total["support"] > 0:
        slope = total["slope"] * total["support"] / total["answering"]
    record = {
        **total,
        "offset": offset,
        "slope": slope,
        "next_bias": next_bias(offset, total["balance"], slope) if with_intercept else 0.0,
        **estimate(problem, table, beta, total, offset if with_intercept else 0.0),
        **mass_record(problem, table),
        "alone": table.alone,
    }
    return {**record, **regime(record), **model}


def rows_in_chunks(problem: Problem, index: NDArray[np.int64]) -> Iterator[Rows]:
    """Yield the rows of some variables a few at a time."""
    for start in range(0, len(index), SUPPORT_CHUNK_ROWS):
        yield problem.take(index[start : start + SUPPORT_CHUNK_ROWS])
