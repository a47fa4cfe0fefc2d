"""The arrays of an expansion on a budget, and of the rows that it learns from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, is_sparse
from dcsvm_dask.kernels.kinds import L1_DISTANCE, SQUARED_DISTANCE

SIZE, STEPS, VIOLATIONS, MERGES, REMOVALS, FAR, AUDITED, EQUAL, VALUES = range(9)
"""Places in `Expansion.counts`: support vectors; rows looked at, those that moved the expansion;
merges, removals; merges of points that do not see each other; merges that were looked at twice,
those among them where golden section search takes the same partner; kernel values."""
N_COUNTS = 9
WIDE = 16
"""Support vectors are padded to a multiple of so many: values of float32 in a vector register."""


class Expansion(NamedTuple):
    """The support vectors: sum_j coef_j K(x_j, .) / steps, and the bias by the same factor.

    The factor 1 - 1 / t of step t makes 1 / t of all steps together: nothing is scaled but at the
    end.
    """

    points: NDArray[np.float32]
    """Shape (d, room): a support vector a column."""
    norms: NDArray[np.float64]
    """Shape (room,): squared norms, or sums of absolute values where the kernel has those."""
    coef: NDArray[np.float64]
    """Shape (room,)."""
    bias: NDArray[np.float64]
    """Shape (1,)."""
    counts: NDArray[np.int64]
    """Shape (N_COUNTS,)."""
    cycles: NDArray[np.int64]
    """Shape (2,): those of all steps and of merges, removals or projections among them."""
    lost: NDArray[np.float64]
    """Shape (3,): what merges that were looked at twice cost by the best partner and h, by golden
    section search, and as they were made."""
    values: NDArray[np.float64]
    """Shape (room, room): kernel values of the support vectors, for projection; else (0, 0)."""


class KernelCode(NamedTuple):
    """A kernel as compiled code has it; see `dcsvm_dask.kernels.values.to_values`."""

    argument: int
    function: int
    scale: np.float32
    degree: int
    coef0: np.float32

    @classmethod
    def of(cls, kernel: Kernel) -> KernelCode:
        """Return the code of a kernel."""
        kind = kernel.kind
        sign = -1.0 if kernel.is_shift_invariant else 1.0
        scale = sign * kernel.gamma / kind.unit if kernel.uses("gamma") else 1.0
        return cls(
            kind.argument,
            kind.function,
            np.float32(scale),
            int(kernel.degree),
            np.float32(kernel.coef0 / kind.unit),
        )


class RowArrays(NamedTuple):
    """Rows, dense or in CSR; the arrays of the other are empty."""

    dense: NDArray[np.float32]
    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    sparse: bool

    @classmethod
    def of(cls, X: Rows) -> RowArrays:
        """Return the arrays of rows, shape (n, d)."""
        none = np.empty(0, np.float32)
        if is_sparse(X):
            return cls(
                np.empty((0, 0), np.float32),
                np.ascontiguousarray(X.data, np.float32),
                np.ascontiguousarray(X.indices, np.int32),
                np.ascontiguousarray(X.indptr, np.int64),
                True,
            )
        dense = np.ascontiguousarray(X, np.float32)
        return cls(dense, none, np.empty(0, np.int32), np.empty(0, np.int64), False)


def empty(n_features: int, budget: int, *, projects: bool) -> Expansion:
    """Return an expansion without support vectors.

    Parameters
    ----------
    n_features : int
    budget : int
        Most support vectors; there is room for one more.
    projects : bool
        Whether kernel values of support vectors are kept.
    """
    room = -(-(budget + 1) // WIDE) * WIDE
    side = room if projects else 0
    return Expansion(
        np.zeros((n_features, room), np.float32),
        np.zeros(room),
        np.zeros(room),
        np.zeros(1),
        np.zeros(N_COUNTS, np.int64),
        np.zeros(2, np.int64),
        np.zeros(3),
        np.zeros((side, side)),
    )


def norms_of(argument: int, points: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the norms of columns that the argument of a kernel needs."""
    if argument == L1_DISTANCE:
        return np.asarray(np.abs(points).sum(axis=0, dtype=np.float64))
    if argument == SQUARED_DISTANCE:
        return np.asarray(np.einsum("fj,fj->j", points, points, dtype=np.float64))
    return np.zeros(points.shape[1])


def as_words(values: Any) -> dict[str, int]:
    """Return counts by their names, for records."""
    names = ("support", "steps", "violations", "merges", "removals", "far_merges")
    return {name: int(values[i]) for i, name in enumerate(names)}
