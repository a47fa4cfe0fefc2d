"""Parameters of estimators, checked before anything is solved."""

from __future__ import annotations

import math
import numbers
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from dcsvm_dask.checks import check, is_a, is_finite
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.estimators.pools import most_threads
from dcsvm_dask.kernels import Kernel, Rows, RunningVariance, check_rule, gamma_by
from dcsvm_dask.methods import resources
from dcsvm_dask.pipeline.parameters import check_value

MOST_THREADS = 4096
MOST_STEPS = 10_000_000
"""Of an SVM with an infinite C, or a hundred for each row."""
BLOCK_VALUES = 1 << 16
"""Values of rows whose squares are summed at a time: their memory stays in the cache."""
MOST_SEED = np.iinfo(np.int32).max


def is_squared(loss: Any, losses: dict[str, bool]) -> bool:
    """Return whether a loss is a square.

    Parameters
    ----------
    loss : str
    losses : dict of bool
        The losses that there are, and whether they are squares.

    Raises
    ------
    InputError
        If there is no such loss.
    """
    known = isinstance(loss, str) and loss in losses
    check(known, "loss", loss, f"one of {', '.join(losses)}")
    return losses[loss]


def constant_feature(estimator: Any) -> float:
    """Return the value of the feature whose weight is a linear SVM's bias; 0: it has none.

    At infinity the bias is free: the limit of its weight's part in the regularisation is 0.

    Raises
    ------
    InputError
        If `fit_intercept` or `intercept_scaling` is not possible.
    """
    check_flags(estimator, "fit_intercept")
    scaling = estimator.intercept_scaling
    if not estimator.fit_intercept:
        return 0.0
    is_free = is_a(scaling, numbers.Real) and scaling == math.inf
    if not is_free and not (is_real(scaling) and scaling > 0):
        raise InputError(f"intercept_scaling is {scaling!r:.80}; give a number above 0.")
    return float(scaling)


def bias_words(constant: float) -> dict[str, Any]:
    """Return what `solve_linear` takes of the value that `constant_feature` returns."""
    return {"bias": "free"} if constant == math.inf else {"constant": constant}


def kernel_of(estimator: Any, X: Rows) -> Any:
    """Return the kernel that the parameters describe; a `KnownKernel` of rows that have one.

    gamma "scale" is 1 / (n_features X.var()), or 1 where that is 0; "auto" is 1 / n_features, as
    scikit-learn has them.
    """
    if isinstance(X, KnownRows):
        return X.kernel
    gamma = estimator.gamma
    check_rule(gamma)
    if isinstance(gamma, str):
        gamma = gamma_by(gamma, X.shape[1], 0.0 if gamma == "auto" else _variance(X))
    elif is_real(gamma):
        gamma = float(gamma)
    return Kernel(estimator.kernel, gamma, estimator.degree, estimator.coef0)


def _variance(X: Rows) -> float:
    found = RunningVariance()
    step = max(1, X.shape[0] if sparse.issparse(X) else BLOCK_VALUES // X.shape[1])
    for start in range(0, X.shape[0], step):
        found.update(X[start : start + step])
    return found.variance


def seed_of(random_state: Any) -> int:
    """Return a seed; None is 0, so that a fit can be repeated."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(MOST_SEED))


def tolerance(tol: Any) -> float:
    """Return a checked tolerance."""
    check_value("tol", tol)
    return float(tol)


def inner_solver(inner: Any) -> str:
    """Return the checked name of a solver of working sets."""
    check_value("inner", inner)
    return str(inner)


def most_steps(max_iter: Any, none: int | None) -> int | None:
    """Return the limit on steps; `none`, where there is one, is the word for the usual one."""
    whole = is_a(max_iter, numbers.Integral)
    if none is not None and whole and max_iter == none:
        return None
    if not (whole and max_iter >= 1):
        no_limit = "" if none is None else f", or {none} for the usual limit"
        raise InputError(f"max_iter is {max_iter!r:.80}; give a whole number from 1{no_limit}.")
    return int(max_iter)


def limit_of_steps(estimator: Any, n: int) -> int | None:
    """Return the limit on the steps of an SVM of n rows; of an infinite C there always is one.

    Rows that cannot be separated, or targets that cannot be met, have no solution then: variables
    grow without end.
    """
    limit = most_steps(estimator.max_iter, -1)
    if limit is None and math.isinf(estimator.C):
        return max(MOST_STEPS, 100 * n)
    return limit


def threads_of(n_jobs: Any) -> int:
    """Return the number of threads: -1 is as many as BLAS may use here, None is one.

    That is one for each core, but fewer where OMP_NUM_THREADS says so, as in the processes by which
    joblib and Dask share the cores out.
    """
    if n_jobs is None:
        return 1
    if not is_a(n_jobs, numbers.Integral) or n_jobs == 0 or n_jobs > MOST_THREADS:
        raise InputError(
            f"n_jobs is {n_jobs!r:.80}; give a whole number but 0, up to {MOST_THREADS}, or None."
        )
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, most_threads() + 1 + int(n_jobs))


def threads_for_tasks(n_jobs: Any) -> AbstractContextManager[None]:
    """Let tasks of this process use so many threads."""
    return resources.lent(threads_of(n_jobs))


def check_flags(estimator: Any, *names: str) -> None:
    """Refuse parameters that are neither true nor false."""
    for name in names:
        value = getattr(estimator, name)
        if not isinstance(value, bool | np.bool_ | numbers.Integral):
            raise InputError(f"{name} is {value!r:.80}; give True or False.")


def is_real(value: Any) -> bool:
    """Whether a parameter is a finite number."""
    return is_a(value, numbers.Real) and is_finite(value)
