"""The choice between partitions: none is used unmeasured.

One candidate's partition with its figures, and the cost that they come to.
"""

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
"""Mass between blocks, beside a row's own kernel value, below which balance decides."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A partition that was measured."""

    name: str
    """The candidate that made it."""

    partition: Partition
    mass: Mass
    balance: Balance

    over_cap: int
    """Blocks that have more than their cap of the measured rows."""

    cost: float
    """(0.05 + D(pi) / sum_i K_ii) times the share of pairs of rows inside blocks."""

    costs: NDArray[np.float64]
    """The cost without each measured row in turn, from which differences get their error."""

    def is_told_from(self, other: Trial) -> bool:
        """Whether the sample tells the costs apart by two standard errors (the jackknife's)."""
        apart = self.costs - other.costs
        e = len(apart)
        error = math.sqrt((e - 1) / e) * float(np.linalg.norm(apart - apart.mean()))
        return abs(self.cost - other.cost) > 2 * error

    def figures(self) -> dict[str, Any]:
        """Return the figures as values fit for JSON."""
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
    """Rows that every candidate of one choice is measured on.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (e, d), float32
        Rows that tell the kernel mass.
    X_balance : ndarray or CSR, shape (b, d), float32, or None
        Rows that tell the shares of the blocks; None where X does.
    n_rows : int
        Rows that these stand for.
    cap : int
        Most rows of a block.
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
        """The rows that tell the shares of the blocks."""
        return self._X if self._X_balance is None else self._X_balance

    @property
    def limit(self) -> float:
        """Most of these rows in a block that keeps its cap but for one standard error."""
        share, e = self._cap_share, self.rows_for_balance.shape[0]
        rest = 1 - min(e / self._n_rows, 1.0)
        return max(share - math.sqrt(share * (1 - share) / e * rest), share / 2) * e

    def __call__(self, name: str, partition: Partition, labels: NDArray[np.int32]) -> Trial:
        """Measure a partition by the blocks that it gives to `rows_for_balance`."""
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
"""Share of the kernel's mass between blocks up to which they do not see each other."""

_MEASURED = 2048
"""Rows set aside to measure the candidates on."""

_FEW_CLUSTERS, _NEARLY = 16, 0.01
"""Few clusters that nearly lie apart are worth more starts: such a partition may do so wholly."""


def sample_size(n_clusters: int, n_rows: int) -> int:
    """Return how many sampled rows `choose_partition` makes good use of.

    40 rows a centre, at least 2,000, and the rows to measure on.
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

    Each candidate is split until its blocks keep the cap, and only then measured, on rows that it
    was not clustered on: kernel k-means on few rows under a sharp kernel looks good on its own
    sample and sends most other rows to one block. The cost is 0.05 + D(pi) / sum_i K_ii times the
    share of pairs of rows that lie in one block: the first bounds the error of the level
    (Theorem 1; mass between blocks that is small beside the rows' own kernel values does not
    count), the second is the work of solving the blocks. The smallest cost is taken; of those that
    the sample cannot tell from it (two standard errors, and at most 10 %) the one whose labels
    cost least. Few clusters between which there is little mass are sought again until there is
    none.

    Parameters
    ----------
    kernel : Kernel
    X_sample : ndarray or CSR, shape (s, d), float32
        Rows drawn at random from all rows, or from the support vectors of the level below; see
        `sample_size`.
    n_clusters : int
        Clusters to make, at least 1; the cap may make more blocks, equal rows fewer.
    n_rows : int
        Rows that will be assigned. A sample of as many rows or more counts as all of them: it is
        clustered and measured whole.
    cap : int
        Most rows of a block, at least 1. A block stays above it where rows cannot be told apart
        (the record counts these), or by chance since the shares come from a sample; `split_block`
        mends the latter once all rows are assigned.
    seed : int
    X_balance : ndarray or CSR, shape (b, d), float32, optional
        Rows drawn at random from all rows, that tell the shares of the blocks, where X_sample is
        drawn from support vectors; by default the rows of X_sample set aside to measure on.
    more_starts : int, default 8
        How often few clusters that nearly lie apart are sought again, at most.

    Returns
    -------
    Partition
    dict
        Fit for JSON: `chosen`, `reason` (a sentence), `n_blocks`, the sizes that went in, and
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
        tried = tried[:1]  # one block is one block however it is told
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
        raise InputError(f"n_clusters is {n_clusters}; give a whole number from 1.")
    if cap < 1:
        raise InputError(f"cap is {cap}; give the most rows of a block, at least 1.")


def _rank(trial: Trial) -> tuple[int, float]:
    return trial.over_cap, trial.cost


def _best(trials: list[Trial]) -> Trial:
    fewest = min(trial.over_cap for trial in trials)
    able = [trial for trial in trials if trial.over_cap == fewest]
    least = min(able, key=lambda trial: trial.cost)
    for trial in able:  # from the cheapest labels on
        if trial.cost <= 1.1 * least.cost and not trial.is_told_from(least):
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
        return text + "; nothing else fits this kernel."
    beside = ", ".join(f"{trial.cost:.3g} for {trial.name}" for trial in others)
    least = min(others, key=lambda trial: trial.cost)
    if least.cost < chosen.cost and least.over_cap > chosen.over_cap:
        return f"{text} against {beside}, where more blocks stay above the cap."
    if least.cost < chosen.cost:
        return f"{text} against {beside}, which the sample cannot tell apart; its labels cost less."
    return f"{text}, the smallest, against {beside}."
