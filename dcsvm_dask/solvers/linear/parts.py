"""Linear SVMs whose rows are in several parts: descent over one part while the others rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.solvers.box_qp import solve_box_qp
from dcsvm_dask.solvers.linear.descent import Chunks, LinearDescent, Measured
from dcsvm_dask.solvers.linear.free_bias import FreeBiasDescent
from dcsvm_dask.solvers.linear.problem import SignedProblem, Vector
from dcsvm_dask.solvers.linear.visits import USUAL, Visits
from dcsvm_dask.tasks import Dual


@dataclass(frozen=True, slots=True)
class Descended:
    """Where descent over a part has led."""

    beta: Vector
    """The variables of the part, shape (n,)."""
    w: Vector
    """The w of all rows, shape (d + 1,); the weight of the constant last."""
    passes: int
    """Passes that were made over the rows of the part."""


def descend_part(
    chunks: Chunks,
    dual: Dual,
    beta: Vector,
    outside: Vector,
    *,
    constant: float,
    tol: float,
    most_visits: int | None = None,
    most_passes: int | None = None,
    inner_passes: int = 3,
    visits: Visits = USUAL,
    seed: int = 0,
    callback: Callable[[int, float], object] | None = None,
) -> Descended:
    """Descend over the variables of some rows; those of all other rows are fixed.

    The problem of `solve_linear_dual` with w = outside + sum_i beta_i x_i, where `outside` is the
    sum over the other rows.

    Parameters
    ----------
    chunks : sequence of arrays or CSR
        The rows of the part; see `solve_linear_chunks`.
    dual : Dual
        The problem of these rows.
    beta : ndarray, shape (n,), float64
        Where to start, within the bounds.
    outside : ndarray, shape (d + 1,), float64
        What the other rows give to w; the weight of the constant last.
    constant : float
        Value of the feature that is appended to every row; 0: none.
    tol : float
        Violation of the part's problem at which descent ends.
    most_visits : int, optional
        Rows that are visited, about, until it ends without that.
    most_passes : int, optional
        Passes over active rows until it ends without that; `most_visits` does not count then.
    visits : Visits
        The order of passes and shrinking.
    inner_passes, seed, callback
        As for `solve_linear_chunks`.

    Raises
    ------
    InputError
        For shapes or values that do not fit.
    """
    problem = SignedProblem.of(dual, constant, beta, visits)
    descent = LinearDescent(chunks, problem, seed, max(1, inner_passes), outside)
    found = descent.solve(tol, most_passes, callback, most_visits)
    return Descended(found.alpha, descent.w, found.n_iter)


@dataclass(frozen=True, slots=True)
class Freed:
    """Where descent with a free bias has led."""

    beta: Vector
    """The variables, shape (n,)."""
    w: Vector
    """What they and other rows give to w, shape (d + 1,): the constant times the sum of variables
    last, without the multiplier."""
    bias: float
    """The multiplier."""
    passes: int
    """Passes that were made."""
    gradient: Vector | None = None
    """w'x_i + p_i + D_ii beta_i, shape (n,), without a bias; None where it was not asked for."""


def descend_free(
    chunks: Chunks,
    dual: Dual,
    beta: Vector,
    bias: float,
    *,
    constant: float,
    tol: float,
    most_visits: int,
    inner_passes: int = 3,
    visits: Visits = USUAL,
    seed: int = 0,
    callback: Callable[[int, float], object] | None = None,
) -> Freed:
    """Descend over all variables of a problem whose bias is free; they end balanced.

    The problem of `solve_linear_dual` with ``bias="free"``.

    Parameters
    ----------
    chunks, dual, beta, tol, most_visits, inner_passes, visits, seed, callback
        As for `descend_part`.
    bias : float
        The multiplier to start from.
    constant : float
        Square root of rho, above 0; see `dcsvm_dask.solvers.linear.free_bias`.
    """
    problem = SignedProblem.of(dual, constant, beta, visits)
    descent = FreeBiasDescent(chunks, problem, seed, max(1, inner_passes), bias)
    found = descent.solve(tol, None, callback, most_visits)
    w = descent.total()
    return Freed(found.alpha, w, found.b, found.n_iter, descent.gradient(w))


def approach_free(
    X: Rows,
    dual: Dual,
    beta: Vector,
    bias: float,
    others: Vector,
    *,
    constant: float,
    tol: float,
    most_visits: int,
    seed: int = 0,
) -> Freed:
    """Descend over some rows' variables that settle the bias and the sum of all rows' variables.

    Parameters
    ----------
    X : Rows, shape (n, d)
    others : ndarray, shape (d + 1,), float64
        What the other rows give to w, with the constant times the sum of their variables last.
    dual, beta, bias, constant, tol, most_visits, seed
        As for `descend_free`; `beta` need not end balanced.
    """
    problem = SignedProblem.of(dual, constant, beta)
    descent = FreeBiasDescent((X,), problem, seed, 1, bias, others)
    passes = descent.approach(tol, most_visits)
    return Freed(descent.alpha, descent.total(), descent.bias, passes)


def sum_part(chunks: Chunks, dual: Dual, beta: Vector, *, constant: float) -> Vector:
    """Return what some rows give to w, shape (d + 1,): the constant times the sum of beta last."""
    return FreeBiasDescent(chunks, SignedProblem.of(dual, constant, beta), 0, 1, 0.0).total()


def gradient_part(
    chunks: Chunks, dual: Dual, beta: Vector, w: Vector, *, constant: float
) -> Vector:
    """Return w'x_i + p_i + D_ii beta_i of some rows, without a bias; w has that of all rows."""
    return FreeBiasDescent(chunks, SignedProblem.of(dual, constant, beta), 0, 1, 0.0).gradient(w)


def measure_part(
    chunks: Chunks, dual: Dual, beta: Vector, w: Vector, *, constant: float
) -> Measured:
    """Return where the rows of a part stand at the w of all rows.

    Parameters
    ----------
    chunks, dual, beta, constant
        As for `descend_part`.
    w : ndarray, shape (d + 1,), float64

    Returns
    -------
    Measured
        Its ``w`` is the sum over these rows alone.
    """
    return LinearDescent(chunks, SignedProblem.of(dual, constant, beta), 0, 1).measure(w)


def joint_factors(
    steps: NDArray[np.float64], w: Vector, linear: Vector, ridges: Vector
) -> tuple[Vector, float]:
    """Return which share of each part's step to take, and by how much the objective falls.

    The best factors in [0, 1], which Pechyony, Shen, Jones (2011) and Lee, Roth (ICML 2015) have
    for all parts together: the objective never rises. Where a step crosses the kink of its loss
    its chord stands for it, an upper bound.

    Parameters
    ----------
    steps : ndarray, shape (n_parts, d + 1), float64
        What each part's step adds to w.
    w : ndarray, shape (d + 1,), float64
    linear : ndarray, shape (n_parts,), float64
        The slope of each step without that of w, chords included.
    ridges : ndarray, shape (n_parts,), float64
        The quadratic form of each step by the ridge.
    """
    if not (np.isfinite(steps).all() and np.isfinite(linear).all()):
        raise InputError("a step is not finite: scale the features.")
    M = steps @ steps.T + np.diag(ridges)
    c = steps @ w + linear
    moved = np.flatnonzero(np.diag(M) > 0.0)
    factors = np.ones(len(steps))
    factors[moved] = solve_box_qp(M[np.ix_(moved, moved)], c[moved])
    return factors, -float(0.5 * factors @ M @ factors + c @ factors)
