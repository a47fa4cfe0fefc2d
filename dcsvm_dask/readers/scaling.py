"""Scaling of features, learned on training rows and applied to later rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.compiled import njit
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows

KINDS = ("none", "minmax", "standard", "unit")
AUTO = "auto"
SCALES = (AUTO, *KINDS)
"""What an ingest may be asked for; "auto" becomes one of the kinds."""
LEARNED = (AUTO, "minmax", "standard")
"""Those that depend on the training rows."""

_LARGEST = np.finfo(np.float32).max


@dataclass(frozen=True)
class Scaling:
    """A scaling of rows.

    Parameters
    ----------
    kind : {"minmax", "standard", "unit"}
        ``minmax`` maps the training rows to [0, 1], or to [-1, 1] without a shift when the
        rows are sparse; ``standard`` divides by the standard deviation, after subtracting the
        mean when the rows are dense; ``unit`` divides every row by its Euclidean length.
    offset : float64 array, shape (n_features,), optional
        Subtracted first. With None zeros stay zeros.
    factor : float64 array, shape (n_features,), optional
        Multiplied then. A feature that was constant in the training rows has factor 0.
    """

    kind: str
    offset: NDArray[np.float64] | None = None
    factor: NDArray[np.float64] | None = None

    def apply(self, rows: Rows) -> Rows:
        """Return scaled rows in float64, before rounding to float32.

        Parameters
        ----------
        rows : ndarray or csr_array, shape (n, n_features)

        Returns
        -------
        ndarray or csr_array, shape (n, n_features), float64

        Raises
        ------
        InputError
            If the number of features differs, or if sparse rows would be shifted.
        """
        if self.factor is not None and rows.shape[1] != self.factor.size:
            raise InputError(
                f"rows must have the {self.factor.size} features that the scaling was learned on, "
                f"got {rows.shape[1]}"
            )
        if sparse.issparse(rows):
            return self._apply_sparse(rows)
        out = np.array(rows, dtype=np.float64)
        if self.offset is not None:
            out -= self.offset
        if self.factor is not None:
            out *= self.factor
        if self.kind == "unit":
            length = np.sqrt(np.einsum("ij,ij->i", out, out))
            out /= np.where(length > 0, length, 1.0)[:, None]
        return out

    def apply_rounded(self, rows: Rows) -> NDArray[np.float32] | None:
        """Return scaled rows rounded to float32, in one pass.

        Parameters
        ----------
        rows : ndarray, shape (n, n_features), float32 or float64

        Returns
        -------
        ndarray, shape (n, n_features), float32, or None
            The values of `apply` rounded. None where one is not finite, or the kind needs more than
            a shift and a factor for each feature.
        """
        if self.kind == "unit" or self.factor is None or rows.shape[1] != self.factor.size:
            return None
        offset = np.zeros(self.factor.size) if self.offset is None else self.offset
        out = np.empty(rows.shape, np.float32)
        return out if _scale_rounded(rows, offset, self.factor, out) else None

    def of_features(self, positions: Sequence[int]) -> Scaling:
        """Return the scaling of some features in another order."""
        index = np.asarray(positions, np.int64)
        parts = (None if a is None else a[index] for a in (self.offset, self.factor))
        return Scaling(self.kind, *parts)

    def equals(self, other: Scaling) -> bool:
        """Return whether another scaling gives the same results."""
        if self.kind != other.kind:
            return False
        mine, theirs = self.to_arrays()[0], other.to_arrays()[0]
        return mine.keys() == theirs.keys() and all(
            np.array_equal(v, theirs[k]) for k, v in mine.items()
        )

    def to_arrays(self) -> tuple[dict[str, NDArray[np.float64]], dict[str, Any]]:
        """Return arrays and a description in JSON values, for `from_arrays`."""
        arrays = {"offset": self.offset, "factor": self.factor}
        return {k: v for k, v in arrays.items() if v is not None}, {"kind": self.kind}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[np.float64]], meta: dict[str, Any]) -> Scaling:
        """Return the scaling from the results of `to_arrays`."""
        return cls(str(meta["kind"]), arrays.get("offset"), arrays.get("factor"))

    def _apply_sparse(self, rows: Rows) -> Rows:
        if self.offset is not None and self.offset.any():
            raise InputError(
                "the scaling was learned on dense rows and shifts features, which would fill "
                "sparse rows: give dense rows"
            )
        rows = sparse.csr_array(rows)
        data = rows.data.astype(np.float64)
        if self.factor is not None:
            data *= self.factor[rows.indices]
        if self.kind == "unit":
            per_row = np.diff(rows.indptr)
            owner = np.repeat(np.arange(rows.shape[0]), per_row)
            length = np.sqrt(np.bincount(owner, weights=data * data, minlength=rows.shape[0]))
            data /= np.repeat(np.where(length > 0, length, 1.0), per_row)
        return sparse.csr_array((data, rows.indices, rows.indptr), rows.shape)


@njit(cache=True, nogil=True)
def _scale_rounded(rows: Any, offset: Any, factor: Any, out: Any) -> bool:
    """Scale rows and return whether all values are finite; -0.0 becomes 0.0."""
    wrong = 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = np.float32((np.float64(rows[i, j]) - offset[j]) * factor[j])
            out[i, j] = value + np.float32(0.0)
            wrong += not abs(value) <= _LARGEST
    return wrong == 0
