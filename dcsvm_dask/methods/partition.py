"""The partition of a level: chosen on a sample, assigned to all rows, listed by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.clustering import Partition, choose_partition, partition_quality
from dcsvm_dask.kernels import Rows
from dcsvm_dask.methods.block_table import BlockTable, chosen_by
from dcsvm_dask.methods.problem import ARRANGE, Problem, read_problem
from dcsvm_dask.methods.regime import parts_better
from dcsvm_dask.methods.run_data import data_of, data_rows, settings_of
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.random_streams import BLOCK_SIZES, LEVEL, PROBE, QUALITY, generator
from dcsvm_dask.storage.model import read_partition, write_rule
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

SAMPLE_ROWS_PER_CENTRE = 20
MEASURED_ROWS = 2048
# Sampled rows of a block at its cap, from which the sizes of blocks are estimated.
BALANCE_ROWS_PER_BLOCK = 16
# A cluster of more than so many times the mean is split, so that no block delays a level.
IMBALANCE = 3
# A record lists the sizes of up to so many blocks.
MOST_LISTED = 4096


def cluster_data(run: RunFolder, attempt: Attempt, *, n_clusters: int) -> Record:
    """Choose the bottom partition on a sample of all rows of the data set.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    n_clusters : int
    """
    settings, data = settings_of(run), data_of(run)
    cap = largest_block(settings, data.n_distinct, n_clusters)
    size = balance_size(data.n_distinct, cap)
    sample = drawn_rows(settings, data.n_rows, sample_size(settings, n_clusters))
    more = drawn_rows(settings, data.n_rows, size, stream=BLOCK_SIZES)
    # Read both at once: each lies in nearly all chunks.
    both = data_rows(run).take(np.concatenate([sample, more]))
    X, others = both[: len(sample)], both[len(sample) :] if size else None
    return _choose(settings, attempt, X, others, data.n_distinct, n_clusters, cap, 0)


def cluster_support(
    run: RunFolder, attempt: Attempt, *, level: int, n_clusters: int, below: str
) -> Record:
    """Choose a level's partition on a sample of the support vectors of the level below.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    level : int
    n_clusters : int
    below : str
        The stage of the level below.
    """
    settings, problem = settings_of(run), read_problem(run)
    node = run.node(below, "commit")
    if node.has("support"):  # of several SVMs
        support = np.sort(node.read("support"))
    else:
        support = np.flatnonzero(node.read("beta")[0])
    if not len(support):
        support = np.arange(problem.n)
    rng = generator(settings.seed, LEVEL + level)
    size = min(len(support), sample_size(settings, n_clusters))
    sample = np.sort(rng.choice(support, size=size, replace=False))
    cap = largest_block(settings, problem.n, n_clusters)
    balance = balance_size(problem.n, cap)
    others = None
    if balance:
        others = problem.take(np.sort(rng.choice(problem.n, size=balance, replace=False)))
    return _choose(
        settings, attempt, problem.take(sample), others, problem.n, n_clusters, cap, level
    )


def weigh_partition(
    run: RunFolder, attempt: Attempt, *, level: int, n_clusters: int, below: str
) -> Record:
    """Choose a level's partition as `cluster_support`, and say whether to solve its blocks.

    Parameters
    ----------
    run, attempt, level, n_clusters, below
        As for `cluster_support`.
    """
    record = cluster_support(run, attempt, level=level, n_clusters=n_clusters, below=below)
    has_own = run.find(below, "cluster", released=False) is not None
    before = chosen_by(run, below if has_own else ARRANGE).record["choice"]
    return {**record, **parts_better(record["choice"], before)}


def assign_data(run: RunFolder, attempt: Attempt, *, part: int, parts: int) -> Record:
    """Assign a share of the data set's rows to the blocks of the bottom partition.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    part, parts : int
        The share and the number of shares.
    """
    rows = data_rows(run)
    return _assign(attempt, read_rule(run, ARRANGE), rows.read(*share(rows.n_rows, part, parts)))


def assign_problem(
    run: RunFolder, attempt: Attempt, *, stage: str, part: int, parts: int
) -> Record:
    """Assign a share of the variables to the blocks of a level.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of the level.
    part, parts : int
        The share and the number of shares.
    """
    problem = read_problem(run)
    return _assign(attempt, read_rule(run, stage), problem.X.read(*share(problem.n, part, parts)))


def order_blocks(run: RunFolder, attempt: Attempt, *, stage: str, parts: int) -> Record:
    """Commit the variables of each block of a level.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of the level.
    parts : int
        Number of tasks that assigned the variables.
    """
    labels = read_labels(run, stage, parts)
    index, offsets, kept = group_by_label(labels)
    attempt.write("index", index)
    attempt.write("offsets", offsets)
    attempt.write("block_label", kept)
    return block_record(offsets)


def read_rule(run: RunFolder, stage: str) -> Partition:
    """Return the partition that a stage has chosen."""
    node = chosen_by(run, stage)
    return read_partition(node, "rule", node.record["rule"])


def read_labels(run: RunFolder, stage: str, parts: int) -> NDArray[np.int32]:
    """Return the labels that a stage has assigned, in the order of the rows.

    Parameters
    ----------
    run : RunFolder
    stage : str
    parts : int
        Number of tasks that assigned them.
    """
    nodes = [run.node(stage, f"assign-{i:04d}") for i in range(parts)]
    labels = np.empty(sum(node.record["rows"] for node in nodes), dtype=np.int32)
    done = 0
    for node in nodes:
        labels[done : done + node.record["rows"]] = node.read("labels")
        done += node.record["rows"]
    return labels


def group_by_label(
    labels: NDArray[np.int32],
) -> tuple[NDArray[np.integer[Any]], NDArray[np.int64], NDArray[np.int64]]:
    """Return rows grouped by label, ascending in each, the groups' offsets and their labels."""
    n = len(labels)
    # The conversion of a matrix with an entry a column is a counting sort in little memory.
    each = np.arange(n + 1, dtype=np.int32 if n < np.iinfo(np.int32).max else np.int64)
    one_each = sparse.csc_array((np.ones(n, dtype=np.bool_), labels, each))
    grouped = one_each.tocsr()
    counts = np.diff(grouped.indptr)
    label = np.flatnonzero(counts)
    offsets = np.concatenate([[0], np.cumsum(counts[label], dtype=np.int64)])
    return grouped.indices, offsets, label


def block_record(offsets: NDArray[np.int64]) -> Record:
    """Return the number and the sizes of blocks for a record."""
    sizes = np.diff(offsets)
    return {
        "blocks": len(sizes),
        "largest_block": int(sizes.max()),
        "smallest_block": int(sizes.min()),
        "block_rows": sizes.tolist() if len(sizes) <= MOST_LISTED else [],
    }


def mass_record(problem: Problem, table: BlockTable) -> Record:
    """Estimate D(pi) of a level on a seeded sample of the variables."""
    rng = generator(problem.settings.seed, QUALITY)
    sample = np.sort(rng.choice(problem.n, size=min(problem.n, MEASURED_ROWS), replace=False))
    mass = partition_quality(
        problem.settings.kernel, problem.take(sample), table.blocks_of(sample), n_rows=problem.n
    )
    return {"D": mass.between, "D_error": mass.between_error, "D_share": mass.share}


def sample_size(settings: Settings, n_clusters: int) -> int:
    """Return the number of rows on which a partition is chosen."""
    # Candidates are measured on rows that they were not clustered on.
    return max(settings.n_samples_clustering, SAMPLE_ROWS_PER_CENTRE * n_clusters) + MEASURED_ROWS


def largest_block(settings: Settings, n_rows: int, n_clusters: int) -> int:
    """Return the largest number of rows of a level's cluster.

    Parameters
    ----------
    settings : Settings
    n_rows : int
        Number of all rows.
    n_clusters : int
    """
    return max(min(settings.block_cap, n_rows), IMBALANCE * n_rows // n_clusters)


def balance_size(n_rows: int, cap: int) -> int:
    """Return the number of rows from which the sizes of blocks are estimated.

    Returns
    -------
    int
        0 if the rows that measure D(pi) are enough.
    """
    size = min(n_rows, BALANCE_ROWS_PER_BLOCK * (n_rows // cap))
    return size if size > MEASURED_ROWS else 0


def drawn_rows(
    settings: Settings, n_rows: int, size: int, stream: int = PROBE
) -> NDArray[np.int64]:
    """Return a random sample of row numbers, ascending.

    Parameters
    ----------
    settings : Settings
    n_rows : int
        Number of all rows.
    size : int
        Size of the sample.
    stream : int, optional
        A constant of `dcsvm_dask.random_streams`.

    Returns
    -------
    ndarray of int64
    """
    rng = generator(settings.seed, stream)
    return np.sort(rng.choice(n_rows, size=min(n_rows, size), replace=False))


def _choose(
    settings: Settings,
    attempt: Attempt,
    sample: Rows,
    X_balance: Rows | None,
    n_rows: int,
    n_clusters: int,
    cap: int,
    level: int,
) -> Record:
    partition, choice = choose_partition(
        settings.kernel,
        sample,
        n_clusters=n_clusters,
        n_rows=n_rows,
        cap=cap,
        seed=settings.seed * 1009 + level,
        X_balance=X_balance,
    )
    rule = write_rule(attempt.place / "rule", partition)
    return {"rule": rule, "choice": choice, "cap": cap}


def _assign(attempt: Attempt, rule: Partition, X: Rows) -> Record:
    attempt.write("labels", rule.assign(X))
    return {"rows": int(X.shape[0])}
