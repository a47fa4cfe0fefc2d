"""The choice between partitions, each of which is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.balance import Balance, balance
from dcsvm_dask.clustering.candidates import Candidate, candidates
from dcsvm_dask.clustering.grow import grow
from dcsvm_dask.clustering.partition import Partition
from dcsvm_dask.clustering.quality import Mass, SampleMass, estimate_mass, leave_one_out
from dcsvm_dask.clustering.rows import as_rows
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_diagonal

_NEGLIGIBLE = 0.05
"""Mass between blocks, relative to a row's own kernel value, below which balance decides."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A measured partition."""

    name: str
    """Name of its candidate."""

    partition: Partition
    mass: Mass
    balance: Balance

    over_cap: int
    """Number of blocks with more than their cap of the measured rows."""

    cost: float
    """(0.05 + D(pi) / sum_i K_ii) times the share of pairs of rows inside blocks."""

    costs: NDArray[np.float64]
    """Cost without each measured row in turn, for the errors of differences."""

    def differs_from(self, other: Trial) -> bool:
        """Return whether the costs differ by more than two standard errors (of the jackknife)."""
        apart = self.costs - other.costs
        e = len(apart)
        error = math.sqrt((e - 1) / e) * float(np.linalg.norm(apart - apart.mean()))
        return abs(self.cost - other.cost) > 2 * error

    def figures(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "name": self.name,
            "rule": self.partition.rule,
            "gamma": getattr(getattr(self.partition, "kernel", None), "gamma", None),
            "n_blocks": self.partition.n_blocks,
            "mass_between": self.mass.between,
            "mass_between_error": self.mass.between_error,
            "share_between": self.mass.share,
            "share_between_error": self.mass.share_error,
            "pairs_within": self.balance.pairs_within,
            "largest_share": self.balance.largest_share,
            "effective_blocks": self.balance.effective_blocks,
            "empty_blocks": self.balance.empty_blocks,
            "over_cap": self.over_cap,
            "kernel_values_per_row": self.partition.kernel_values_per_row,
            "cost": self.cost,
        }


class Measure:
    """The rows on which every candidate of a choice is measured.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (e, d), float32
        Rows to estimate the kernel mass.
    X_balance : ndarray or CSR, shape (b, d), float32, or None
        Rows to estimate the shares of the blocks; None: X.
    n_rows : int
        Number of rows that these were drawn from.
    cap : int
        Largest number of rows of a block.
    """

    def __init__(
        self, kernel: Kernel, X: Rows, X_balance: Rows | None, *, n_rows: int, cap: int
    ) -> None:
        self._X, self._X_balance = X, X_balance
        self._mass = SampleMass(kernel, X)
        self._n_rows = n_rows
        self._cap_share = min(cap / n_rows, 1.0)
        diagonal = float(np.mean(np.abs(kernel_diagonal(kernel, X))))
        self._scale = (n_rows - 1) / diagonal if diagonal > 0 else 0.0

    @property
    def rows_for_balance(self) -> Rows:
        """Rows to estimate the shares of the blocks."""
        return self._X if self._X_balance is None else self._X_balance

    @property
    def limit(self) -> float:
        """Largest number of these rows in a block that meets its cap, less one standard error."""
        share, e = self._cap_share, self.rows_for_balance.shape[0]
        unmeasured = 1 - min(e / self._n_rows, 1.0)
        return max(share - math.sqrt(share * (1 - share) / e * unmeasured), share / 2) * e

    def __call__(self, name: str, partition: Partition, labels: NDArray[np.int32]) -> Trial:
        """Measure a partition by the blocks that it assigns to `rows_for_balance`.

        Parameters
        ----------
        name : str
            Name of the candidate.
        partition : Partition
        labels : ndarray, shape (b,), int32
            Blocks of `rows_for_balance`.

        Returns
        -------
        Trial
        """
        rows = self._mass.rows(labels if self._X_balance is None else partition.assign(self._X))
        blocks = balance(labels, partition.n_blocks)
        counts = np.bincount(labels, minlength=partition.n_blocks)
        e = len(rows.between)
        mean = float(rows.between.sum()) / max(e * (e - 1), 1)
        left = leave_one_out(rows)[1] if e > 2 else np.array([mean])
        return Trial(
            name,
            partition,
            estimate_mass(rows, self._n_rows),
            blocks,
            int(np.count_nonzero(counts > self._cap_share * len(labels))),
            (_NEGLIGIBLE + self._scale * mean) * blocks.pairs_within,
            (_NEGLIGIBLE + self._scale * left) * blocks.pairs_within,
        )


APART = 1e-6
"""Share of the kernel's mass between blocks up to which these are independent."""

_MEASURED = 2048
"""Number of rows on which candidates are measured."""

_FEW_CLUSTERS, _NEARLY = 16, 0.01
"""Numbers of clusters and shares of mass for which more starts are made: such a partition may reach
a share of zero."""


def sample_size(n_clusters: int, n_rows: int) -> int:
    """Return the useful number of sampled rows for `choose_partition`.

    It is 40 rows a centre, at least 2,000, and the rows to measure on.
    """
    return min(n_rows, max(2000, 40 * n_clusters) + _MEASURED)


def choose_partition(
    kernel: Kernel,
    X_sample: Rows,
    *,
    n_clusters: int,
    n_rows: int,
    cap: int,
    seed: int,
    X_balance: Rows | None = None,
    more_starts: int = 8,
) -> tuple[Partition, dict[str, Any]]:
    """Cluster a sample in several ways, measure each partition, and return the best.

    Each candidate is split until its blocks meet the cap, and only then measured, on rows that it
    was not clustered on: kernel k-means on few rows under a sharp kernel looks good on its own
    sample and sends most other rows to one block. The cost is 0.05 + D(pi) / sum_i K_ii times the
    share of pairs of rows in one block: the first bounds the error of the level (Theorem 1; mass
    between blocks that is small relative to the rows' own kernel values does not count), the second
    is the work of solving the blocks. The partition of the smallest cost is chosen; of those that
    the sample cannot distinguish from it (two standard errors, and at most 10 %) the one with the
    cheapest labels. Few clusters with little mass between them are searched again until there is
    none.

    Parameters
    ----------
    kernel : Kernel
    X_sample : ndarray or CSR, shape (s, d), float32
        Rows drawn at random from all rows, or from the support vectors of the level below; see
        `sample_size`.
    n_clusters : int
        Number of clusters, at least 1; the cap may make more blocks, equal rows fewer.
    n_rows : int
        Number of rows to assign. A sample of as many rows or more is all of them: it is
        clustered and measured whole.
    cap : int
        Largest number of rows of a block, at least 1. A block stays above it where its rows cannot
        be separated (the record counts these), or by chance since the shares are estimated from a
        sample; the problem of a larger block is solved by decomposition.
    seed : int
    X_balance : ndarray or CSR, shape (b, d), float32, optional
        Rows drawn at random from all rows to estimate the shares of the blocks, where X_sample is
        drawn from support vectors; by default the rows of X_sample on which partitions are
        measured.
    more_starts : int, default 8
        Largest number of further searches for few clusters with little mass between them.

    Returns
    -------
    Partition
    dict
        JSON values: `chosen`, `reason` (a sentence), `n_blocks`, the sizes of the input, and
        `candidates`, the figures of each one.

    Raises
    ------
    InputError
        If a parameter is out of range or the sample has no rows.
    """
    X = as_rows(X_sample)
    _check(X, n_clusters, cap)
    rng = np.random.default_rng(seed)
    order = rng.permutation(X.shape[0])
    if X.shape[0] >= n_rows:
        measured = X[order[: 2 * _MEASURED]]
    else:
        n_measured = max(1, min(_MEASURED, X.shape[0] // 2))
        measured, X = X[order[:n_measured]], X[order[n_measured:]]
    if X_balance is not None:
        X_balance = as_rows(X_balance, X.shape[1])
    measure = Measure(kernel, measured, X_balance, n_rows=n_rows, cap=cap)

    def start(candidate: Candidate) -> Trial:
        partition, labels = grow(
            candidate.fit,
            X,
            measure.rows_for_balance,
            n_clusters=n_clusters,
            limit=measure.limit,
            rng=rng,
        )
        return measure(candidate.name, partition, labels)

    tried = candidates(kernel, X, n_clusters, rng)
    if n_clusters == 1 and cap >= n_rows:
        tried = tried[:1]  # all candidates give one block
    trials = [
        min((start(candidate) for _ in range(candidate.n_starts)), key=_rank) for candidate in tried
    ]
    chosen = _best(trials)
    if n_clusters <= _FEW_CLUSTERS and APART < chosen.mass.share < _NEARLY:
        for _ in range(more_starts):
            again = [start(candidate) for candidate in tried[:2]]
            trials[:2] = [min(pair, key=_rank) for pair in zip(trials, again, strict=False)]
            chosen = _best(trials)
            if chosen.mass.share <= APART:
                break
    record = {
        "chosen": chosen.name,
        "reason": _reason(chosen, trials),
        "n_blocks": chosen.partition.n_blocks,
        "n_clusters": n_clusters,
        "n_rows": n_rows,
        "cap": cap,
        "rows_clustered": int(X.shape[0]),
        "rows_measured": int(measured.shape[0]),
        "candidates": [trial.figures() for trial in trials],
    }
    return chosen.partition, record


def _check(X: Rows, n_clusters: int, cap: int) -> None:
    if X.shape[0] == 0:
        raise InputError("the sample to cluster has no rows; draw at least one.")
    if n_clusters < 1:
        raise InputError(f"n_clusters must be at least 1, got {n_clusters}.")
    if cap < 1:
        raise InputError(f"cap must be at least 1 row, got {cap}.")


def _rank(trial: Trial) -> tuple[int, float]:
    return trial.over_cap, trial.cost


def _best(trials: list[Trial]) -> Trial:
    fewest = min(trial.over_cap for trial in trials)
    able = [trial for trial in trials if trial.over_cap == fewest]
    least = min(able, key=lambda trial: trial.cost)
    for trial in able:  # in the order of the cost of their labels
        if trial.cost <= 1.1 * least.cost and not trial.differs_from(least):
            return trial
    return least


def _reason(chosen: Trial, trials: list[Trial]) -> str:
    others = [trial for trial in trials if trial is not chosen]
    text = (
        f"{chosen.name}: {chosen.mass.share:.1%} of the kernel mass lies between its"
        f" {chosen.partition.n_blocks} blocks and {chosen.balance.pairs_within:.1%} of the pairs"
        f" inside them, cost {chosen.cost:.3g}"
    )
    if not others:
        return text + "; no other candidate fits this kernel."
    beside = ", ".join(f"{trial.cost:.3g} for {trial.name}" for trial in others)
    least = min(others, key=lambda trial: trial.cost)
    if least.cost < chosen.cost and least.over_cap > chosen.over_cap:
        return f"{text} against {beside}, where more blocks stay above the cap."
    if least.cost < chosen.cost:
        return f"{text} against {beside}, which the sample cannot tell apart; its labels cost less."
    return f"{text}, the smallest, against {beside}."
