"""Kernel values of a few rows with tiles that stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.columns import RARE, TILE_VALUES, RowTile, stored
from dcsvm_dask.kernels.rows import Rows, is_sparse
from dcsvm_dask.kernels.tiles import written

WIDTH = 1024
"""Rows of a tile: wide, as few others meet them at a time; fewer of very long sparse rows."""


def tile_width(X: Rows) -> int:
    """Return the rows of a tile.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    """
    if not is_sparse(X):
        return WIDTH
    longest = int(np.diff(X.indptr).max(initial=1))
    return max(1, min(WIDTH, TILE_VALUES // (RARE * max(1, longest))))


def write_values(
    tile: RowTile,
    Z: Rows,
    out: NDArray[Any],
    start: int,
    chosen: NDArray[np.int64] | None = None,
) -> None:
    """Write the kernel values of rows z_j with those of a tile into ``out[j, start : start + w]``.

    Parameters
    ----------
    tile : RowTile
        Of w rows.
    Z : ndarray or CSR, shape (m, d), float32
    out : ndarray, shape (m or more, start + w or more), float32
    start : int
    chosen : ndarray of int64, optional
        The rows j; all by default.
    """
    m, width = Z.shape[0], tile.n_rows
    chosen = np.arange(m) if chosen is None else chosen
    direct = tile.dtype == out.dtype
    block = out if direct else np.empty((m, width), tile.dtype)
    tile.meet(stored(Z), chosen, written(block, start if direct else 0))
    if not direct:
        out[chosen, start : start + width] = block[chosen]
