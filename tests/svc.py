"""The solvers in the variables of C-SVC, 0 <= alpha <= C: those of its books and of its peers.

min 0.5 a'Qa + p'a with Q_ij = y_i y_j K_ij; g = Qa + p is its gradient. Tests that compare with
scikit-learn, LIBSVM or the definitions of papers are written in these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask import solvers
from dcsvm_dask.solvers import divide, optimality, path
from dcsvm_dask.tasks import Dual, svc_dual


class InAlpha:
    """A result of a solver with alpha = y beta, and its gradient, beside what else it has."""

    def __init__(self, found: Any, y: Any) -> None:
        self.found = found
        self.alpha = np.asarray(y) * found.beta
        if hasattr(found, "gradient"):
            self.gradient = np.asarray(y) * found.gradient

    def __getattr__(self, name: str) -> Any:
        return getattr(self.found, name)


def dual_of(y: Any, C: Any, p: Any = None) -> Dual:
    """Return the problem of labels, upper bounds and a linear term of alpha."""
    y = np.asarray(y, dtype=np.float64)
    found = svc_dual(y, C)
    if p is None:
        return found
    return Dual(y * np.broadcast_to(np.asarray(p, np.float64), y.shape), found.lower, found.upper)


def _signed(how: dict[str, Any], y: Any) -> dict[str, Any]:
    y = np.asarray(y, dtype=np.float64)
    if "alpha" in how:
        alpha = how.pop("alpha")
        how["beta"] = None if alpha is None else y * np.asarray(alpha)
    if how.get("gradient") is not None:
        how["gradient"] = y * np.asarray(how["gradient"])
    return how


def solve_smo(K: Any, y: Any, C: Any, *, p: Any = None, **how: Any) -> Any:
    """Solve by `dcsvm_dask.solvers.solve_smo`."""
    return InAlpha(solvers.solve_smo(K, dual_of(y, C, p), **_signed(how, y)), y)


def _of_rows(solver: Any) -> Any:
    def solve(kernel: Any, X: Any, y: Any, C: Any, *, p: Any = None, **how: Any) -> Any:
        found = solver(kernel, X, dual_of(y, C, p), **_signed(how, y))
        if isinstance(found, tuple):
            return InAlpha(found[0], y), *found[1:]
        return InAlpha(found, y)

    return solve


solve_decomposition = _of_rows(solvers.solve_decomposition)
solve_whole = _of_rows(solvers.solve_whole)
solve_working_sets = _of_rows(solvers.solve_working_sets)


def solve_online(kernel: Any, X: Any, y: Any, C: Any, **how: Any) -> Any:
    """Learn by `dcsvm_dask.solvers.solve_online`."""
    return InAlpha(solvers.solve_online(kernel, X, y, C, **_signed(how, y)), y)


def solve_blocks(kernel: Any, X: Any, y: Any, C: Any, blocks: Any, **how: Any) -> Any:
    """Solve by `dcsvm_dask.solvers.divide.solve_blocks`."""
    beta, *work = divide.solve_blocks(kernel, X, dual_of(y, C), blocks, **how)
    return (None if beta is None else y * beta), *work


def solve_next(kernel: Any, X: Any, y: Any, C: Any, before: Any, **how: Any) -> Any:
    """Solve by `dcsvm_dask.solvers.solve_next`."""
    found, values = solvers.solve_next(kernel, X, dual_of(y, C), before.found, **how)
    return InAlpha(found, y), values


def stretch(alpha: Any, gradient: Any, C: Any) -> float:
    """Return the multiple by `dcsvm_dask.solvers.path.stretch`."""
    return path.stretch(alpha, gradient, dual_of(np.ones(len(alpha)), C, -1.0))


def stretched(alpha: Any, gradient: Any, C: Any) -> Any:
    """Return the multiple by `dcsvm_dask.solvers.stretched`."""
    return path.stretched(alpha, gradient, dual_of(np.ones(len(alpha)), C, -1.0))


def train_on_subsets(kernel: Any, take: Any, y: Any, C: Any, **how: Any) -> Any:
    """Train by `dcsvm_dask.solvers.train_on_subsets`."""
    return solvers.train_on_subsets(kernel, take, dual_of(y, C), **how)


def violation_box(gradient: Any, alpha: Any, C: Any) -> float:
    """Return `dcsvm_dask.solvers.violation_box`, which has no use for labels."""
    return optimality.violation_box(gradient, alpha, dual_of(np.ones(len(alpha)), C))


def violation_pair(gradient: Any, alpha: Any, y: Any, C: Any) -> float:
    """Return `dcsvm_dask.solvers.violation_pair`."""
    return optimality.violation_pair(y * gradient, y * alpha, dual_of(y, C))


def multiplier_interval(gradient: Any, alpha: Any, y: Any, C: Any) -> tuple[float, float]:
    """Return `dcsvm_dask.solvers.multiplier_interval`."""
    return optimality.multiplier_interval(y * gradient, y * alpha, dual_of(y, C))


def bias(gradient: Any, alpha: Any, y: Any, C: Any) -> float:
    """Return `dcsvm_dask.solvers.bias`."""
    return optimality.bias(y * gradient, y * alpha, dual_of(y, C))


def balanced(alpha: Any, y: Any, C: Any) -> Any:
    """Return `dcsvm_dask.solvers.balanced`."""
    return y * optimality.balanced(y * alpha, dual_of(y, C))


def objective(alpha: Any, gradient: Any, p: Any = -1.0) -> float:
    """Return `dcsvm_dask.solvers.objective`."""
    linear, nothing = np.broadcast_to(p, np.shape(alpha)), np.zeros(np.shape(alpha))
    return optimality.objective(alpha, gradient, Dual(linear, nothing, nothing))


def duality_gap(gradient: Any, alpha: Any, C: Any, y: Any = None) -> float:
    """Return `dcsvm_dask.solvers.duality_gap`; with labels that of the problem with a bias."""
    if y is None:
        return optimality.duality_gap(gradient, alpha, dual_of(np.ones(len(alpha)), C))
    return optimality.duality_gap(y * gradient, y * alpha, dual_of(y, C), equality=True)


def reach(gradient: Any, alpha: Any, C: Any) -> Any:
    """Return `dcsvm_dask.solvers.reach`, which has no use for labels."""
    return solvers.reach(gradient, alpha, dual_of(np.ones(len(alpha)), C))


def select_set(alpha: Any, C: Any, gradient: Any, tol: float, cap: int, *, y: Any = None) -> Any:
    """Return `dcsvm_dask.solvers.select_set`; with labels that of the problem with a bias."""
    labels = np.ones(len(alpha)) if y is None else y
    signed = labels * alpha, dual_of(labels, C), labels * gradient
    return solvers.select_set(*signed, tol, cap, equality=y is not None)
