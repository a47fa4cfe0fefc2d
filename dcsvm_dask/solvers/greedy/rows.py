"""What greedy basis selection holds of some rows, and its sums over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.tasks import SQUARED_HINGE, SquaredLoss

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

# Rows whose columns are made float64 at a time: some MB, which stay in cache.
_TILE = 1024


class BasisRows:
    """Some of the rows, with the kernel columns of the basis and of the candidates at them.

    Every method that returns something returns a sum over these rows, so that sums over several
    such objects, wherever they live, are sums over all rows. The state is the output o_i of each
    row, a direction u_i in which it may move, and for which columns and rows the Hessian is
    known already.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    y, C : ndarray, shape (n,)
        Targets, as labels -1 and +1; weights of the rows' losses.
    first : int
        The number of the first of these rows among all rows.
    most, pool : int
        Most basis vectors, and candidates at a time: with an intercept 4 n (most + pool + 1)
        bytes of columns are held, and those in stock.
    intercept : bool
        Begin with a column of ones.
    dtype : float32 or float64, default float64
        Precision in which kernel values are computed; they are held in float32.
    loss : SquaredLoss, default that of classes
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        y: Vector,
        C: Vector,
        *,
        first: int,
        most: int,
        pool: int,
        intercept: bool,
        dtype: Any = np.float64,
        loss: SquaredLoss = SQUARED_HINGE,
    ) -> None:
        n = len(y)
        self.loss = loss
        self.kernel, self.X, self.y, self.C, self.first = kernel, X, y, C, first
        self.dtype = dtype
        self.columns = np.empty((most + intercept, n), np.float32)
        self.candidates = np.zeros((pool, n), np.float32)
        self.count = int(intercept)
        self.columns[: self.count] = 1.0
        self.output, self.direction = np.zeros(n), np.zeros(n)
        self._stock = self.candidates[:0]
        self._known = 0
        self._active = np.zeros(n, np.bool_)

    def rows(self, chosen: Index) -> Rows:
        """Return those of the chosen rows (by their numbers among all, ascending) held here."""
        low, high = np.searchsorted(chosen, (self.first, self.first + len(self.y)))
        return self.X[chosen[low:high] - self.first]

    def stock(self, Z: Rows) -> None:
        """Make the columns of rows Z, which are to be candidates."""
        self._stock = self._kernel_at(Z)

    def offer(self, places: Index, chosen: slice) -> None:
        """Make some of the rows in stock candidates, in the given places of the pool."""
        self.candidates[places] = self._stock[chosen]

    def extend(self, Z: Rows) -> None:
        """Make rows Z basis vectors, of weight zero."""
        m = Z.shape[0]
        self.columns[self.count : self.count + m] = self._kernel_at(Z)
        self.count += m

    def take(self, place: int) -> None:
        """Make a candidate the last basis vector, and its column the direction."""
        self.columns[self.count] = self.candidates[place]
        self.direction[:] = self.candidates[place]
        self.count += 1

    def scores(self) -> NDArray[np.float64]:
        """Return slope and curvature of the loss in every candidate's weight, shape (2, pool)."""
        out = np.zeros((2, len(self.candidates)))
        active, residual = self._residual()
        # As exact as the candidates' kernel values.
        residual = residual.astype(self.dtype)
        weight = np.where(active, self.C, 0.0).astype(self.dtype)
        for start in range(0, len(weight), _TILE):
            part = slice(start, start + _TILE)
            columns = self.candidates[:, part].astype(self.dtype, copy=False)
            out[0] -= columns @ residual[part]
            out[1] += (columns * columns) @ weight[part]
        return out

    def aim(self, step: Vector) -> None:
        """Set the direction to that of a step in the weights, shape (basis,)."""
        for part, columns in _tiles(self.columns[: self.count]):
            self.direction[part] = step @ columns

    def along(self, t: float) -> Vector:
        """Return loss, slope and curvature at a distance t in the direction, shape (3,)."""
        margin = self.loss.margin(self.y, self.output)
        margin = margin - t * self.loss.falls(self.y, self.direction)
        left, u = self.loss.left(margin), self.loss.signs(self.y, margin) * self.direction
        weighted = self.C * left
        curvature = np.where(left > 0.0, self.C * u, 0.0) @ u
        return np.array([0.5 * (weighted @ left), -(weighted @ u), curvature])

    def move(self, t: float) -> None:
        """Go a distance t in the direction."""
        self.output += t * self.direction

    def gradient(self) -> Vector:
        """Return the gradient of the loss in the weights, shape (basis,)."""
        out = np.zeros(self.count)
        residual = self._residual()[1]
        for part, columns in _tiles(self.columns[: self.count]):
            out -= columns @ residual[part]
        return out

    def hessian_change(self) -> NDArray[np.float64]:
        """Return what the Hessian of the loss changed by since the last call, (basis, basis).

        Of columns that were there then, only the rows whose loss began or ended count.
        """
        out = np.zeros((self.count, self.count))
        old, self._known = self._known, self.count
        before, self._active = self._active, self._residual()[0]
        known, root = self.columns[:old], np.sqrt(self.C)
        for sign, rows in ((1.0, self._active & ~before), (-1.0, before & ~self._active)):
            for part, columns in _tiles(known, rows):
                columns *= root[part]
                out[:old, :old] += sign * (columns @ columns.T)
        if old < self.count:
            for part, columns in _tiles(self.columns[: self.count], self._active):
                columns *= root[part]
                out[old:] += columns[old:] @ columns.T
            out[:old, old:] = out[old:, :old].T
        return out

    def _kernel_at(self, Z: Rows) -> NDArray[np.float32]:
        # In float64 a value's own rounding to float32 is its only error, which many weights
        # together do not notice.
        columns = kernel_matrix(self.kernel, self.X, Z, tile_dtype=self.dtype)
        out = np.empty(columns.shape[::-1], np.float32)
        for start in range(0, len(columns), _TILE):  # what is read and written stays in cache
            part = slice(start, start + _TILE)
            out[:, part] = columns[part].T
        return out

    def _residual(self) -> tuple[NDArray[np.bool_], Vector]:
        margin = self.loss.margin(self.y, self.output)
        left = self.loss.left(margin)
        active = left > 0.0
        signs = self.loss.signs(self.y, margin)
        return active, np.where(active, self.C * signs * left, 0.0)


def _tiles(
    columns: NDArray[np.float32], rows: NDArray[np.bool_] | None = None
) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Yield rows, all or some of them, a tile at a time, with their columns in float64."""
    if rows is None:
        for start in range(0, columns.shape[1], _TILE):
            every = slice(start, start + _TILE)
            yield every, columns[:, every].astype(np.float64)
        return
    chosen = np.flatnonzero(rows)
    for start in range(0, len(chosen), _TILE):
        part = chosen[start : start + _TILE]
        yield part, np.take(columns, part, axis=1).astype(np.float64)
