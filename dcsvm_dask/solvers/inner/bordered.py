"""The Cholesky factor of a free block, brought up to date while variables come and go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

# A matrix that is not positive definite by rounding has more put onto its diagonal, so many times.
_TRIES, _RAISE = 6, 100.0


class BorderedFactor:
    """Newton's equations of a free block and what has changed since it was factored.

    With Q = K + delta I + rho (sum of 1_g 1_g'), A = Q_BB = LL' of the block B, variables of B
    that are held (at a bound) and variables N that joined, a step d solves ::

        [A  E  C] [d_B]   [-g_B]
        [E' 0  0] [mu ] = [  0 ]        C = Q_BN, D = Q_NN,
        [C' 0  D] [d_N]   [-g_N]

    where the columns of E are unit vectors of the held variables. Eliminating d_B leaves a small
    system, the Schur complement U'U - [0 0; 0 D] with U = L^-1 [E C] (Gill, Murray, Saunders,
    Wright, 1990). A column of U is found once, by one triangular solve, and kept.

    Parameters
    ----------
    K : ndarray, shape (n, n), float32 or float64
    block : ndarray of int64, shape (m,)
        Ascending.
    sums : list of ndarray of bool, shape (n,)
        The variables 1_g of each sum whose square counts.
    rho : float
        Its weight.
    room : int
        Most columns of U.

    Raises
    ------
    numpy.linalg.LinAlgError
        If no diagonal makes the block positive definite.
    """

    def __init__(
        self,
        K: NDArray[np.floating],
        block: Index,
        sums: list[NDArray[np.bool_]],
        rho: float,
        room: int,
    ) -> None:
        self.K, self.block, self.sums, self.rho = K, block, sums, rho
        self.delta, self.L = self._factor()
        self.place = np.full(len(K), -1)
        self.place[block] = np.arange(len(block))
        # Rows of U', so that a column is contiguous for LAPACK.
        self._U = np.empty((room, len(block)))
        self._gram = np.empty((room, room))
        self._at: dict[int, int] = {}
        self._filled = 0

    @property
    def room(self) -> int:
        """How many more variables may come or go."""
        return len(self._U) - self._filled

    def missing(self, changed: Index) -> Index:
        """Return which of some variables that are held or joined have no column of U yet."""
        return np.array([k for k in changed.tolist() if k not in self._at], dtype=np.int64)

    def step(self, g: Vector, free: NDArray[np.bool_]) -> Vector:
        """Return Newton's step of the free variables, the others held.

        Parameters
        ----------
        g : ndarray, shape (n,), float64
            Slopes.
        free : ndarray of bool, shape (n,)
            At most `room` variables may be free outside of the block, or held within it, whose
            column is not known yet.

        Returns
        -------
        ndarray, shape (n,), float64
            Zero where a variable is held.
        """
        joined = np.flatnonzero(free & (self.place < 0))
        held = self.block[~free[self.block]]
        changed = np.concatenate([held, joined])
        self._know(changed)
        chosen = np.array([self._at[k] for k in changed.tolist()], dtype=np.int64)
        U, T = self._U[chosen], self._gram[np.ix_(chosen, chosen)]
        first = len(held)
        if len(joined):
            T[first:, first:] -= self._values(joined, joined) + self.delta * np.eye(len(joined))
        z = linalg.solve_triangular(self.L, -g[self.block], lower=True, check_finite=False)
        if len(chosen):
            right = U @ z
            right[first:] += g[joined]
            found = np.linalg.solve(T, right)
            z -= found @ U
        step = np.zeros(len(self.K))
        step[self.block] = linalg.solve_triangular(
            self.L, z, lower=True, trans=1, check_finite=False
        )
        step[held] = 0.0
        if len(joined):
            step[joined] = found[first:]
        return step

    def _know(self, changed: Index) -> None:
        """Find the columns of U of variables that are held or joined for the first time."""
        new = self.missing(changed)
        if len(new) == 0:
            return
        columns = np.zeros((len(new), len(self.block)))
        place = self.place[new]
        inside = np.flatnonzero(place >= 0)
        columns[inside, place[inside]] = 1.0
        outside = np.flatnonzero(place < 0)
        columns[outside] = self._values(new[outside], self.block)
        for k, variable in enumerate(new.tolist()):
            self._at[variable] = self._filled + k
        self._append(columns)

    def _append(self, columns: Vector) -> None:
        solved = linalg.solve_triangular(
            self.L, columns.T, lower=True, overwrite_b=True, check_finite=False
        ).T
        first, last = self._filled, self._filled + len(columns)
        self._U[first:last] = solved
        products = self._U[:last] @ self._U[first:last].T
        self._gram[:last, first:last] = products
        self._gram[first:last, :last] = products.T
        self._filled = last

    def _values(self, rows: Index, columns: Index) -> Vector:
        """Return values of Q, without delta."""
        values = self.K[np.ix_(rows, columns)].astype(np.float64)
        for mine in self.sums:
            values += self.rho * np.outer(mine[rows], mine[columns])
        return values

    def _factor(self) -> tuple[float, Vector]:
        """Return what was added to the diagonal, at least K's rounding, and the factor L."""
        most = float(self.K.diagonal()[self.block].max(initial=0.0)) or 1.0
        delta = most * float(np.finfo(self.K.dtype).eps) * float(np.sqrt(len(self.block)))
        for _ in range(_TRIES):
            A = self._values(self.block, self.block)
            A[np.diag_indices(len(A))] += delta
            try:
                # It is symmetric: the transposed is in Fortran's order, as LAPACK has it.
                return delta, linalg.cholesky(A.T, lower=True, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                delta *= _RAISE
        raise linalg.LinAlgError("the free block is not positive definite")
