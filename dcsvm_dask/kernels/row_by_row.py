"""Rows of a kernel matrix, computed when compiled code first asks for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.kernel import Kernel, kernel_diagonal
from dcsvm_dask.kernels.kinds import INNER_PRODUCT, L1_DISTANCE
from dcsvm_dask.kernels.matrix import counted_kernel_matrix
from dcsvm_dask.kernels.rows import Rows, is_sparse
from dcsvm_dask.kernels.values import to_values
from dcsvm_dask.kernels.vectors import INNER, SUM_FLAGS, prefer_wide_vectors

# Values of a row that stay in the first-level cache.
_STRETCH = 512


class Asked(NamedTuple):
    """Which rows of a kernel matrix are there, and what computes the others; see `ask`."""

    place: NDArray[np.int64]
    """Where each row is in the memory, shape (n,); -1: it is not there."""
    order: NDArray[np.int64]
    """The rows that are there, in the order in which they were asked for."""
    number: NDArray[np.int64]
    """How many these are, shape (1,)."""
    most: int
    """From how many on no more should be asked for."""
    F: NDArray[np.float32]
    """The features of all rows, shape (d, n)."""
    diagonal: NDArray[np.float64]
    """The diagonal of the matrix, shape (n,)."""
    kind: tuple[int, int, float, int, float]
    """(argument, function, scale, degree, coef0); the last four as `to_values` takes them."""


@njit(**INNER, fastmath=SUM_FLAGS)
def _arguments(F: Any, i: Any, start: Any, argument: Any, T: Any) -> None:
    """T[k] = the inner product or distance of rows i and start + k, in float64."""
    prefer_wide_vectors()
    n = len(T)
    for k in range(n):
        T[k] = 0.0
    for f in range(F.shape[0]):
        own = np.float64(F[f, i])
        other = F[f, start : start + n]
        if argument == INNER_PRODUCT:
            for k in range(n):
                T[k] += np.float64(other[k]) * own
        elif argument == L1_DISTANCE:
            for k in range(n):
                T[k] += abs(np.float64(other[k]) - own)
        else:
            for k in range(n):
                apart = np.float64(other[k]) - own
                T[k] += apart * apart


@njit(cache=True, nogil=True)
def ask(K: Any, asked: Any, i: Any) -> Any:
    """Return where row i of the kernel matrix is in K, computed if it was not there.

    Where `asked` is None all rows are there, in their order; this is compiled by itself.
    """
    if asked is None:
        return i
    at = asked.place[i]
    if at >= 0:
        return at
    at = asked.number[0]
    argument, function, scale, degree, coef0 = asked.kind
    row, n = K[at], K.shape[1]
    zero = np.zeros(min(n, _STRETCH))
    buffer = np.empty((1, min(n, _STRETCH)))
    for start in range(0, n, _STRETCH):
        _arguments(asked.F, i, start, argument, buffer[0, : n - start])
        to_values(buffer, function, scale, degree, coef0, zero, zero)
        for k in range(start, min(start + _STRETCH, n)):
            row[k] = buffer[0, k - start]
    row[i] = asked.diagonal[i]
    asked.place[i] = at
    asked.order[at] = i
    asked.number[0] = at + 1
    return at


@njit(cache=True, nogil=True)
def _values(K: Any, places: Any, columns: Any) -> Any:
    """Return K[places][:, columns]; NumPy takes several times as long."""
    found = np.empty((len(places), len(columns)))
    for a in range(len(places)):
        row = K[places[a]]
        for b in range(len(columns)):
            found[a, b] = row[columns[b]]
    return found


class KernelRows:
    """Rows of a kernel matrix in float64, one after the other as they are asked for.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        A dense copy is made, so features should be few.
    room : int
        How many rows there is room for.

    Attributes
    ----------
    K : ndarray, shape (room, n), float64
        Memory that is the system's until a row is written.
    diagonal : ndarray, shape (n,), float64
        The diagonal of the whole matrix.
    """

    def __init__(self, kernel: Kernel, X: Rows, room: int) -> None:
        n, kind = X.shape[0], kernel.kind
        self._kernel, self._X = kernel, X
        scale, coef0 = kernel.gamma / kind.unit, kernel.coef0 / kind.unit
        scale = -scale if kernel.is_shift_invariant else scale
        self.K = np.empty((room, n))
        with np.errstate(over="ignore"):  # infinite values are the solver's to refuse
            self.diagonal = np.asarray(kernel_diagonal(kernel, X), np.float64)
        self._asked = Asked(
            place=np.full(n, -1),
            order=np.empty(room, np.int64),
            number=np.zeros(1, np.int64),
            most=room,
            F=np.ascontiguousarray((X.toarray() if is_sparse(X) else X).T),
            diagonal=self.diagonal,
            kind=(kind.argument, kind.function, float(scale), int(kernel.degree), float(coef0)),
        )

    def for_steps(self, most: int) -> Asked:
        """Return what compiled steps take, which should not ask for more than so many rows."""
        return self._asked._replace(most=most)

    @property
    def what_computes(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], tuple[int, int, float, int, float]]:
        """The features of all rows, the diagonal and the kind, as `Asked` has them."""
        return self._asked.F, self.diagonal, self._asked.kind

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that have been asked for, in that order."""
        return self._asked.order[: len(self)]

    def __len__(self) -> int:
        return int(self._asked.number[0])

    def add(self, rows: NDArray[np.int64], threads: int = 1) -> None:
        """Compute rows together, which takes less time than one after the other.

        Parameters
        ----------
        rows : ndarray of int64
            Those that are there already are not computed again; the others have room.
        threads : int, default 1
            The result is the same. Give BLAS one.
        """
        asked, first = self._asked, len(self)
        rows = rows[asked.place[rows] < 0]
        places = first + np.arange(len(rows))
        new = self.K[first : first + len(rows)]
        memory, own = new.reshape(-1), self._X[rows]
        how: dict[str, Any] = {"dtype": np.float64, "threads": threads, "memory": memory}
        counted_kernel_matrix(self._kernel, own, self._X, **how)
        self.K[places, rows] = self.diagonal[rows]
        asked.place[rows], asked.order[places] = places, rows
        asked.number[0] = first + len(rows)

    def block(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values of some rows with others, computed if they were not there.

        Raises
        ------
        MemoryError
            Where there is no room for them.
        """
        asked = self._asked
        missing = rows[asked.place[rows] < 0]
        if len(self) + len(missing) > len(self.K):
            raise MemoryError("there is no room for more rows of the kernel matrix")
        for row in missing:
            ask(self.K, asked, row)
        return np.asarray(_values(self.K, asked.place[rows], columns))
