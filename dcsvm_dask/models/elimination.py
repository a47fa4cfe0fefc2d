"""Fewer support vectors for a part of a kernel SVM: one after the other is left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix, kernel_product

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Index = NDArray[np.int64]

# Changes at the fitting rows count so much more than the distance in the feature space.
FIT_WEIGHT = 1000.0
# Rows of the part itself that are among the fitting rows, at most.
OWN_ROWS = 2048
# Share of what is left that goes between two fits of the coefficients: at first, by how much more
# each time, at most.
FIRST_STEP, FASTER, STEP = 1.0 / 512.0, 1.5, 1.0 / 24.0
# Among how many times as many those that go are chosen one by one.
CANDIDATES = 3
# Pivots below this part of the diagonal are rounding of zero.
RANK_TOL = 1e-11
# Rows on which it is seen early that a path has gone far enough, and that are done at a time.
_ROWS = 1024
# A path ends where its part alone changes a decision value by so many times the bound.
_FAR = 1.5


@dataclass(frozen=True)
class Path:
    """Ever smaller forms of a part of an SVM, the first one as it was given.

    Attributes
    ----------
    part : ndarray of int64
        The support vectors of the original part.
    kept : list of ndarrays of int64
        Those that each form has, ascending.
    coef : list of ndarrays
        Their coefficients.
    cost : ndarray, shape (n_forms,)
        By how much each support vector that a form lacks makes it worse, not falling.
    change : ndarray, shape (n_forms, n_check), float32
        Of the part's sum at the rows where that is measured.
    """

    part: Index
    kept: list[Index]
    coef: list[Vector]
    cost: Vector
    change: NDArray[np.float32]

    def next_cost(self, form: int) -> float:
        """Return the cost of the form after one, infinite after the last."""
        return float(self.cost[form + 1]) if form + 1 < len(self.cost) else np.inf


def project(kernel: Kernel, Z: Rows, support: Rows, coef: Vector) -> Vector:
    """Return the coefficients b for which sum_j b_j phi(z_j) is nearest to sum_i a_i phi(x_i).

    Least squares in the feature space, b = K_ZZ^-1 K_ZX a (Burges, ICML 1996; Schoelkopf et al.,
    IEEE Trans. Neural Networks 10, 1999). Vectors that depend on others of Z get 0.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    Z : Rows, shape (m, d)
        Takes 8 m^2 bytes a few times over.
    support : Rows, shape (n, d)
    coef : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (m,), float64
    """
    K = kernel_matrix(kernel, Z, dtype=np.float64)
    target = kernel_product(kernel, Z, support, coef, dtype=np.float64)[0]
    system = _System(K, target)
    out = np.zeros(Z.shape[0])
    free = system.independent()
    out[free] = system.solve(free)
    return out


def eliminate(
    kernel: Kernel,
    support: Rows,
    coef: Vector,
    part: Index,
    kept: Index,
    given: Vector,
    fit: Rows,
    check: Rows,
    bound: float,
) -> Path:
    """Leave support vectors out of a part of an SVM, one by one, those first that matter least.

    For w = sum_i a_i phi(x_i), over a part of the support vectors, looks for w' = sum_j b_j
    phi(z_j) over ever fewer of them with a small ::

        ||w - w'||^2 + r sum_t (<w, phi(x_t)> - <w', phi(x_t)>)^2

    where the x_t are fitting rows and support vectors of the part; r makes the second term's
    quadratic form `FIT_WEIGHT` times as large as the first one's (by their traces). The first term
    alone is the reduced set method of Burges (1996) with a chosen set (Schoelkopf et al. 1999); the
    second one asks for what is wanted, the same decision values where there are rows. Its minimum
    over b is G b = g, with G = K_ZZ + r K_ZT K_TZ; without z_j it is worse by b_j^2 / (G^-1)_jj,
    which is what the "optimal brain surgeon" goes by (Hassibi, Stork, NIPS 1992). So those with the
    least of it go, and b is solved for anew after each few (at most 1/24) of them.

    Backwards because that keeps fewer: of 2,489 support vectors of ijcnn1 1,120 change no decision
    value by more than .54 where the forward choice by the residual (kernel matching pursuit with
    all weights fitted, both by the first term alone) errs by 5.2.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    support, coef
        The whole SVM, without repeated rows.
    part : ndarray of int64
        The support vectors of this part, w.
    kept : ndarray of int64
        Those of the part that are still there, ascending; their system takes 8 of
        their number squared bytes about five times.
    given : ndarray, shape (kept,)
        Their coefficients now.
    fit : Rows
        Fitting rows.
    check : Rows
        Rows at which the change is measured.
    bound : float
        The path ends where it alone changes a sum at these by well more than this.

    Returns
    -------
    Path
    """
    S, a, Z = support[part], coef[part], support[kept]
    whole = len(kept) == len(part) and np.array_equal(given, a)
    values = kernel_product(kernel, check, S, a, dtype=np.float64)[0]
    system = _mixed(kernel, S, a, Z, fit)
    near = kernel_matrix(kernel, check[:_ROWS], Z, dtype=np.float64)
    forms: list[tuple[Index, Vector]] = [(np.arange(len(kept)), given)]
    cost, most, step = [0.0], 0.0, FIRST_STEP
    left = system.independent()
    while len(left):
        solution = system.inverse(left)
        forms.append((left, solution[0] * system.scale[left]))
        cost.append(most)
        if np.abs(near[:, left] @ forms[-1][1] - values[:_ROWS]).max(initial=0.0) > _FAR * bound:
            break
        left, each = _without_least(left, *solution, max(1, int(step * len(left))))
        most, step = max(most, each), min(STEP, FASTER * step)
    else:
        forms.append((left, np.zeros(0)))
        cost.append(most)
    change = _changes(kernel, Z, forms, check, values, near)
    if whole:
        change[0] = 0.0
    rows = [kept[own] for own, _ in forms]
    return Path(part, rows, [b for _, b in forms], np.array(cost), change)


def _changes(
    kernel: Kernel,
    Z: Rows,
    forms: list[tuple[Index, Vector]],
    check: Rows,
    values: Vector,
    near: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Return what every form changes of the sums at some rows, shape (n_forms, n_check).

    Parameters
    ----------
    kernel : Kernel
    Z : Rows, shape (m, d)
    forms : list of (ndarray of int64, ndarray of float64)
        The rows of Z that a form has, and their coefficients.
    check : Rows, shape (n_check, d)
    values : ndarray, shape (n_check,), float64
        The sums of the whole part.
    near : ndarray, shape (at most _ROWS, m), float64
        Kernel values of the first rows of `check`.
    """
    change = np.empty((len(forms), check.shape[0]), dtype=np.float32)
    weights = np.zeros((Z.shape[0], len(forms)))
    for number, (own, b) in enumerate(forms):
        weights[own, number] = b
    for start in range(0, check.shape[0], _ROWS):
        some = slice(start, start + _ROWS)
        K = near if start == 0 else kernel_matrix(kernel, check[some], Z, dtype=np.float64)
        change[:, some] = (K @ weights - values[some, None]).T
    return change


def _mixed(kernel: Kernel, S: Rows, a: Vector, Z: Rows, fit: Rows) -> _System:
    """Return the system of `eliminate`."""
    G = kernel_matrix(kernel, Z, dtype=np.float64)
    g = kernel_product(kernel, Z, S, a, dtype=np.float64)[0]
    trace = float(np.trace(G))
    own = S[:: -(-S.shape[0] // OWN_ROWS)]
    terms = []
    for rows in (own, fit):
        if rows.shape[0]:
            K = kernel_matrix(kernel, rows, Z, dtype=np.float64)
            f = kernel_product(kernel, rows, S, a, dtype=np.float64)[0]
            squares = float(np.einsum("ij,ij->", K, K))
            if squares > 0.0:
                terms.append((K, f, squares))
    for K, f, squares in terms:
        r = FIT_WEIGHT * trace / (len(terms) * squares)
        G += r * (K.T @ K)
        g += r * (f @ K)
    return _System(G, g)


class _System:
    """G b = g, scaled to a diagonal of ones, over any of its variables."""

    def __init__(self, G: Matrix, g: Vector) -> None:
        diagonal = G.diagonal().copy()
        if not np.isfinite(diagonal).all():
            raise InputError(
                "the kernel has values that are not finite between support vectors; scale the "
                "features, or lower gamma or degree"
            )
        # A support vector at the origin of the feature space is worth nothing.
        self.scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.maximum(diagonal, 1e-300)), 0.0)
        G *= self.scale
        G *= self.scale[:, None]
        self.G, self.g = G, g * self.scale

    def independent(self) -> Index:
        """Return variables on which the others depend, up to rounding."""
        _, pivots, rank, _ = lapack.dpstrf(self.G, tol=RANK_TOL, lower=1)
        return np.sort(pivots[:rank].astype(np.int64) - 1)

    def inverse(self, left: Index) -> tuple[Vector, Matrix]:
        """Return the solution over some variables, scaled, and the lower half of the inverse."""
        factor = self._factor(left)
        b, _ = lapack.dpotrs(factor, self.g[left], lower=1)
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        return b, inverse

    def solve(self, left: Index) -> Vector:
        """Return the solution over some variables."""
        b, _ = lapack.dpotrs(self._factor(left), self.g[left], lower=1)
        return np.asarray(b * self.scale[left])

    def _factor(self, left: Index) -> Matrix:
        A = self.G[np.ix_(left, left)]
        factor, info = lapack.dpotrf(A, lower=1, clean=1)
        if info:  # what is left depends on each other by rounding alone
            A[np.diag_indices_from(A)] += 10.0 * RANK_TOL
            factor, info = lapack.dpotrf(A, lower=1, clean=1)
        if info:
            raise InputError("the kernel matrix of the support vectors is not positive definite")
        return np.asarray(factor)


def _without_least(left: Index, b: Vector, inverse: Matrix, many: int) -> tuple[Index, float]:
    """Return what is left when so many have gone that matter least, and the most that one cost.

    Each is chosen after those before it have gone: what they leave of the inverse's block of the
    candidates is all that it takes.
    """
    diagonal = inverse.diagonal()
    candidates = np.argsort(b**2 / diagonal, kind="stable")[: CANDIDATES * many]
    candidates.sort()
    A = np.tril(inverse[np.ix_(candidates, candidates)])
    A += np.tril(A, -1).T
    v, gone, most = b[candidates], np.zeros(len(left), dtype=np.bool_), 0.0
    there = np.ones(len(candidates), dtype=np.bool_)
    for _ in range(many):
        worse = np.where(there, v * v / A.diagonal(), np.inf)
        j = int(np.argmin(worse))
        most = max(most, float(worse[j]))
        column = A[:, j] / A[j, j]
        v = v - column * v[j]
        A = A - np.outer(column, A[j])
        A[j, j] = 1.0
        there[j], gone[candidates[j]] = False, True
    return left[~gone], most
