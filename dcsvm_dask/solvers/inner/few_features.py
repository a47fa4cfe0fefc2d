"""The dual problem of a kernel with few explicit features, by an interior point method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dcsvm_dask.kernels import Kernel, Rows, count_explicit_features, explicit_features
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.inner.interior_point import solve_block
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.watched import Watched
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

# With so many rows a feature the method costs less than a kernel matrix.
_ROWS_A_FEATURE = 100
# With fewer than these its systems are hardly smaller than the kernel matrix itself.
_FEWEST_ROWS_A_FEATURE = 4
# Steps that are reckoned with, and what each costs where a step of SMO costs 1 for each row: an
# operation of the factor's product, a number of the features, which each step reads several times,
# and the rest. Measured with one thread.
_STEPS, _PRODUCT, _NUMBER, _OVERHEAD = 30, 0.05, 8.0, 500_000
# SMO has so many times as long before the method is tried.
_AFTER = 2.0
# Numbers of a piece of the features, of which each thread has one at a time.
_PIECE = 1 << 21


def are_few_features(kernel: Kernel, n_rows: int, n_columns: int) -> bool:
    """Return whether explicit features are so few that no kernel matrix is worth computing."""
    rank = count_explicit_features(kernel, n_columns)
    return rank is not None and 0 < rank * _ROWS_A_FEATURE <= n_rows


def may_be_few_features(kernel: Kernel, n_rows: int, n_columns: int) -> bool:
    """Return whether the method may be tried where sequential minimal optimisation is slow."""
    rank = count_explicit_features(kernel, n_columns)
    return rank is not None and 0 < rank * _FEWEST_ROWS_A_FEATURE <= n_rows


@dataclass(frozen=True)
class FewFeatures:
    """A dual problem whose kernel values are inner products of few features.

    The interior point method of `solve_interior_point` then solves systems of the rank of the
    features: a step costs n r^2 operations (Fine, Scheinberg, JMLR 2, 2001). SMO needs millions of
    steps where bounds are large and free variables no more than features.
    """

    kernel: Kernel
    X: Rows
    dual: Dual
    n_features: int

    @classmethod
    def of(cls, kernel: Kernel, X: Rows, dual: Dual, *, most_bytes: float) -> FewFeatures | None:
        """Return the problem as one of few features; None where they are not few.

        Parameters
        ----------
        kernel : Kernel
        X : ndarray or CSR, shape (n, d), float32
        dual : Dual
        most_bytes : float
            Memory of the features in float64, of which there are two copies at most.
        """
        n, d = X.shape
        plain = dual.ridge is None and dual.group is None and dual.spare is None
        if not (plain and may_be_few_features(kernel, n, d)):
            return None
        rank = count_explicit_features(kernel, d) or 0
        return cls(kernel, X, dual, rank) if 16.0 * n * rank <= most_bytes else None

    @property
    def is_quick(self) -> bool:
        """Whether the method costs no more than SMO, even where that needs few steps."""
        return are_few_features(self.kernel, *self.X.shape)

    def patience(self, rows: int) -> int:
        """Return the steps, over sets of so many rows, after which SMO has been too slow."""
        n, rank = len(self.dual), self.n_features
        cost = _PRODUCT * n * rank**2 + _NUMBER * n * rank + _OVERHEAD
        return int(_AFTER * _STEPS * cost / rows)

    def solve(
        self,
        *,
        equality: bool,
        tol: float,
        threads: int = 1,
        callback: Callable[[int, float], object] | None = None,
        after: Solution | None = None,
    ) -> Solution | None:
        """Solve the problem from zero, whatever the size of its bounds.

        Parameters
        ----------
        equality : bool
            Whether the problem has a bias.
        tol : float
            Violation to stop at.
        threads : int, default 1
            The result does not depend on it.
        callback : callable, optional
            Called as callback(n_iter, violation) after each step; a true answer stops the solver.
        after : Solution, optional
            What another solver reached before: its steps count, too.

        Returns
        -------
        Solution or None
            Its gradient is in float64. What was reached where the callback stopped it, which may be
            `after`. None where rounding ended it early.
        """
        V = explicit_features(self.kernel, self.X)
        if not np.isfinite(V).all():
            return None
        watched = (
            None if callback is None else Watched(callback, 0 if after is None else after.n_iter)
        )
        products = _Products(V, threads)
        how: dict[str, Any] = {"equality": equality, "tol": tol, "callback": watched}
        found = solve_block(products, self.dual, **how)
        if not found.converged and (watched is None or not watched.stopped):
            return None
        found.inner, steps = ("interior-point",), found.n_iter
        if after is not None:
            inner, steps = (*after.inner, *found.inner), after.n_iter + steps
            found = after if after.violation < found.violation else found
            found.inner, found.n_iter = inner, steps
        return found


@dataclass(frozen=True)
class _Products:
    """The kernel matrix V V', by products of V with a piece of its rows at a time."""

    V: Vector
    threads: int = 1
    rounding = float(np.finfo(np.float64).eps)

    def __len__(self) -> int:
        return len(self.V)

    @cached_property
    def _pieces(self) -> list[slice]:
        # No fewer than features: the products of all pieces take no more memory than V.
        rows = max(self.V.shape[1], _PIECE // self.V.shape[1])
        return [slice(first, first + rows) for first in range(0, len(self), rows)]

    def diagonal(self) -> Vector:
        """Return the diagonal."""
        return np.asarray(np.einsum("ij,ij->i", self.V, self.V))

    def times(self, weights: Vector) -> Vector:
        """Return the product with some weights."""
        return self._spread(self._summed(weights))

    def factored(self, diagonal: Vector) -> Callable[[Vector], Vector]:
        """Return what solves systems with V V' + D, by a factor of I + V' D^-1 V.

        That is the formula of Sherman, Morrison and Woodbury for the scaled rows D^-1/2 V.
        """
        root = np.sqrt(diagonal)

        def product(piece: slice) -> Vector:
            W = self.V[piece] / root[piece, None]
            return np.asarray(W.T @ W)

        small = self._total(product)
        small[np.diag_indices(len(small))] += 1.0
        factor = linalg.cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

        def solve(right: Vector) -> Vector:
            scale = diagonal if right.ndim == 1 else diagonal[:, None]
            of_features = self._summed(right / scale)
            of_features = linalg.cho_solve(factor, of_features, check_finite=False)
            return (right - self._spread(of_features)) / scale

        return solve

    def _summed(self, weights: Vector) -> Vector:
        """Return V' times some weights."""
        return self._total(lambda piece: np.asarray(self.V[piece].T @ weights[piece]))

    def _spread(self, of_features: Vector) -> Vector:
        """Return V times some weights of the features."""
        products = np.empty((len(self), *of_features.shape[1:]))

        def multiply(piece: slice) -> None:
            products[piece] = self.V[piece] @ of_features

        for_each(multiply, self._pieces, self.threads)
        return products

    def _total(self, work: Callable[[slice], Vector]) -> Vector:
        """Return the sum over pieces, in their order."""
        results = [np.zeros(0)] * len(self._pieces)

        def take(number: int) -> None:
            results[number] = work(self._pieces[number])

        for_each(take, range(len(results)), self.threads)
        total = results[0]
        for more in results[1:]:
            total += more
        return total
