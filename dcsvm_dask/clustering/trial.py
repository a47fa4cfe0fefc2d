"""One candidate's partition with its figures, and the cost that they come to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.balance import Balance, balance
from dcsvm_dask.clustering.partition import Partition
from dcsvm_dask.clustering.quality import Mass, SampleMass, estimate_mass, leave_one_out
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
