"""The warnings of a fit whose problem is solved, but not as one would expect, or not solved."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.fallbacks import fallbacks_warning
from dcsvm_dask.methods.isolated import is_isolated, isolated_rows_warning
from dcsvm_dask.methods.narrow import narrow_margins_warning
from dcsvm_dask.solvers import Solution


def warn_unsolved(solved: list[bool], tol: float, max_iter: int = -1, *, C: float = 1.0) -> None:
    """Warn the caller of `fit` of SVMs that are not solved to the tolerance.

    Parameters
    ----------
    solved : list of bool
    tol : float
    max_iter : int, default -1
        The limit of steps of an estimator that is LIBSVM's; -1: there is none.
    C : float, default 1.0
        With an infinite one there may be no solution.
    """
    missed = solved.count(False)
    if missed:
        early = (
            f"Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data "
            "with StandardScaler or MinMaxScaler. "
        )
        message = (early if max_iter != -1 else "") + (
            f"{missed} of {len(solved)} SVMs are not solved to tol={tol}: raise max_iter (or "
            "tol), or scale the features."
        )
        if C == math.inf:  # noqa: SIM300
            message += " With C=inf there is no solution where a row has to err: give a finite C."
        warnings.warn(message, ConvergenceWarning, stacklevel=callers_level())


def warn_narrow(rho: NDArray[np.float64], tol: float) -> None:
    """Warn the caller of `fit` of margins that the tolerance does not resolve.

    Parameters
    ----------
    rho : ndarray, shape (n_svms,), float64
        The margins of nu-SVCs before all is divided by them, or that of a one-class SVM.
    tol : float
        The violation at which the problems were solved, in the same scale.
    """
    if narrow := narrow_margins_warning(rho.tolist(), tol):
        message = f"{narrow[0].upper()}{narrow[1:]}."
        warnings.warn(message, ConvergenceWarning, stacklevel=callers_level())


def warn_coarse(tol: float, targets: NDArray[np.float64], centre: float) -> None:
    """Warn the caller of `fit` of a tolerance that is above all targets, and so does not bind.

    Parameters
    ----------
    tol : float
        In units of y.
    targets : ndarray, shape (n,), float64
        Where they differ by no more than rounding, any tolerance will do.
    centre : float
    """
    largest = float(np.abs(targets - centre).max(initial=0.0))
    if tol > largest > 8.0 * np.finfo(np.float64).eps * abs(centre):
        warnings.warn(
            DcsvmWarning(
                f"tol={tol:g} is in units of y, and no target is further than {largest:.3g} from "
                "their centre, so that predictions may be off by more: give a smaller tol, or "
                "scale the targets, as TransformedTargetRegressor does"
            ),
            stacklevel=callers_level(),
        )


def warn_fallbacks(inner: str, solutions: Iterable[Solution]) -> None:
    """Warn the caller of `fit` where SMO went on for the inner solver that is named.

    Parameters
    ----------
    inner : str
    solutions : iterable of Solution
    """
    count = sum(one.fallbacks for one in solutions)
    if count:
        warnings.warn(DcsvmWarning(fallbacks_warning(inner, count)), stacklevel=callers_level())


def warn_isolated(estimator: Any, kernel: Kernel, X: Rows) -> None:
    """Warn the caller of `fit` of an SVM that says the same of every new row.

    Parameters
    ----------
    estimator : estimator
        Its support vectors are known.
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        Rows that it was fitted to.
    """
    if isinstance(X, KnownRows):  # there are no rows to look at
        return
    support = int(estimator.support_vectors_.shape[0])
    with one_thread_each():
        isolated = is_isolated(kernel, int(X.shape[0]), support, X.__getitem__)
    if isolated:
        warnings.warn(
            DcsvmWarning(isolated_rows_warning(kernel, support)), stacklevel=callers_level()
        )


def callers_level() -> int:
    """Return the stack level, as seen by who calls this, of the first frame that is not ours.

    How many frames lie between depends on decorators, some of which are scikit-learn's.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(module: str) -> bool:
    """Whether a module is of this package, or of what stands between it and its caller."""
    return module.split(".")[0] in ("dcsvm_dask", "sklearn", "contextlib")
