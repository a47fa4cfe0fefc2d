"""What an iteration asks of rows in memory, by parts of them side by side.

Sums are made by parts, whose number is fixed by the rows so that threads do not change bits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, is_sparse
from dcsvm_dask.kernels.rows import check_rows, check_values
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.cutting.line_search import STRETCHES, Events
from dcsvm_dask.solvers.cutting.losses import Losses, Span
from dcsvm_dask.solvers.linear.products import combine, outputs
from dcsvm_dask.solvers.linear.rows import compiled_rows
from dcsvm_dask.solvers.linear.zeros import without_zeros

Vector = NDArray[np.float64]
_PART_ROWS, _MOST_PARTS = 16_384, 32
# Values of rows that are worth a second thread.
_WORTH = 1 << 20


class Products:
    """Rows with an appended constant, and products with them, in float64.

    Parameters
    ----------
    X : array or CSR, shape (n, d), float32 or float64
    constant : float
        The value of the feature that is appended to every row.
    threads : int
        They change no bit of a result.
    """

    def __init__(self, X: Rows, constant: float, threads: int = 1) -> None:
        X = without_zeros(check_rows(X, "X"))
        check_values(X)
        n, d = X.shape
        self._rows, self._constant = compiled_rows(X), constant
        self.shape = (n, d + 1)
        parts = min(_MOST_PARTS, -(-n // _PART_ROWS))
        self._parts = list(pairwise(n * part // max(1, parts) for part in range(parts + 1)))
        values = X.nnz if is_sparse(X) else n * d
        self._threads = threads if values >= _WORTH else 1

    def outputs(self, w: Vector, out: Vector | None = None, rows: Span | None = None) -> Vector:
        """Return w'x of each row, shape (n,), or write that of some rows to `out`.

        Parameters
        ----------
        w : array, shape (d + 1,), float64
            With the weight of the constant last.
        out : array, shape (n,), float64, optional
        rows : (int, int), optional
            All by default, side by side.
        """
        found = np.empty(self.shape[0]) if out is None else out
        if not w.any():  # where it begins
            found[slice(*rows) if rows is not None else slice(None)] = 0.0
        elif rows is not None:
            outputs(self._rows, *rows, self._constant, w, found)
        else:
            self._side_by_side(lambda _, part: self.outputs(w, found, part))
        return found

    def sum(self, c: Vector) -> Vector:
        """Return sum_i c_i x_i, shape (d + 1,)."""
        sums = np.zeros((len(self._parts), self.shape[1]))

        def work(i: int, part: Span) -> None:
            combine(self._rows, *part, self._constant, c, sums[i])

        self._side_by_side(work)
        return np.asarray(sums.sum(axis=0))

    def look(self, losses: Losses, start: Vector, w: Vector) -> tuple[Vector, Events]:
        """Return the outputs at w, and the events of the first stretch of the line to them.

        The line begins at the outputs `start`.
        """
        end = np.zeros(self.shape[0])
        found: list[Events] = [_NONE] * len(self._parts)

        def work(i: int, part: Span) -> None:
            self.outputs(w, end, part)
            found[i] = Events.of(losses, start, end, *STRETCHES[:2], part)

        self._side_by_side(work)
        return end, Events.of_parts(found)

    def events(self, losses: Losses, start: Vector, end: Vector, low: float, high: float) -> Events:
        """Return the events of a stretch of the line between outputs at two points."""
        found: list[Events] = [_NONE] * len(self._parts)

        def work(i: int, part: Span) -> None:
            found[i] = Events.of(losses, start, end, low, high, part)

        self._side_by_side(work)
        return Events.of_parts(found)

    def touch(
        self, losses: Losses, start: Vector, end: Vector, k: float, share: float
    ) -> tuple[Vector, float, Vector, float]:
        """Return outputs and risk at k, and the plane that touches the risk near there.

        Parameters
        ----------
        losses, start, end, k, share
            As for `Losses.advance`.

        Returns
        -------
        best : array, shape (n,), float64
            The outputs.
        risk : float
        plane : array, shape (d + 1,), float64
        offset : float
        """
        best, slopes = np.empty(self.shape[0]), np.empty(self.shape[0])
        sums = np.zeros((len(self._parts), self.shape[1]))
        found = np.zeros((len(self._parts), 2))

        def work(i: int, part: Span) -> None:
            *found[i], _ = losses.advance(start, end, k, share, best, slopes, part)
            combine(self._rows, *part, self._constant, slopes, sums[i])

        self._side_by_side(work)
        risk, offset = found.sum(axis=0)
        return best, float(risk), np.asarray(sums.sum(axis=0)), float(offset)

    def _side_by_side(self, work: Callable[[int, Span], object]) -> None:
        items = list(enumerate(self._parts))
        for_each(lambda one: work(*one), items, self._threads)


_NONE = Events(0.0, 0.0, 0.0, *np.zeros((3, 0)))
