"""SVMs that scikit-learn trains: SVC and SVR, which are LIBSVM, and LinearSVC, which is LIBLINEAR.

The classes come from where scikit-learn defines them: scikit-learn-intelex puts its own into
``sklearn.svm`` when it patches a process.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kernel_product
from dcsvm_dask.methods.conquer.finish import write_machine
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.svc import require_sklearn
from dcsvm_dask.solvers import objective
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Regression

Vector = NDArray[np.float64]
_INDEX_MAX = np.iinfo(np.int32).max


def solve_libsvm(
    run: RunFolder, attempt: Attempt, *, cache: float, shrinking: bool, tol: float
) -> Record:
    """Train by LIBSVM; the objective is that of its alphas, by kernel values in float64.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    cache : float
        Megabytes of LIBSVM's cache of kernel columns.
    shrinking : bool
        Whether LIBSVM shrinks.
    tol : float
        LIBSVM's ``-e``.

    Returns
    -------
    dict
        Objective, bias, support vectors, iterations, seconds of the fit, and the model's entry.
    """
    require_sklearn("method: libsvm")
    from sklearn.svm._classes import SVC, SVR

    problem = read_problem(run)
    kernel, task = problem.settings.kernel, problem.task
    kind: Any = SVR if isinstance(task, Regression) else SVC
    own = {"epsilon": task.epsilon} if isinstance(task, Regression) else {}
    svc = kind(
        C=problem.settings.C,
        kernel=kernel.name,
        degree=kernel.degree,
        gamma=kernel.gamma,
        coef0=kernel.coef0,
        tol=tol,
        cache_size=cache,
        shrinking=shrinking,
        **own,
    )
    seconds = _fit(svc, problem)
    dual = svc.dual_coef_.toarray() if sparse.issparse(svc.dual_coef_) else svc.dual_coef_
    beta = np.zeros(problem.n)
    beta[svc.support_] = dual[0]
    bias = float(svc.intercept_[0])
    value, computed = _objective(problem, beta)
    return {
        "objective": value,
        "bias": bias,
        "support": int(np.count_nonzero(beta)),
        "bounded": int(np.count_nonzero(problem.dual.is_bounded(beta))),
        "solved": svc.fit_status_ == 0,
        "iterations": int(np.max(svc.n_iter_)),
        "fit_seconds": seconds,
        "kernel_values": computed,
        **write_machine(run, attempt, problem, beta, bias - task.centre),
    }


def solve_liblinear(
    run: RunFolder,
    attempt: Attempt,
    *,
    loss: str,
    dual: bool,
    constant: float,
    max_iter: int,
    tol: float,
) -> Record:
    """Train by LIBLINEAR; with a bias that is the weight of a feature, and regularised as such.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    loss : {"hinge", "squared_hinge"}
    dual : bool
        Whether to solve the dual problem.
    constant : float
        Value of the feature whose weight is the bias, above 0.
    max_iter : int
    tol : float

    Returns
    -------
    dict
        The primal objective, bias, passes, seconds of the fit, and the model's entry.
    """
    require_sklearn("method: liblinear")
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm._classes import LinearSVC

    problem = read_problem(run)
    settings = problem.settings
    svc = LinearSVC(
        loss=loss,
        dual=dual,
        tol=tol,
        C=settings.C,
        fit_intercept=settings.fit_intercept,
        intercept_scaling=constant,
        random_state=settings.seed % (1 << 32),
        max_iter=max_iter,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record says so
        seconds = _fit(svc, problem)
    bias = float(svc.intercept_[0]) if settings.fit_intercept else 0.0
    model = machine(svc.coef_[0], bias, as_csr=problem.X.is_sparse)
    values = decide(model, problem.X.read(0, problem.n), "exact", dtype=np.float64)
    slack = np.maximum(0.0, 1.0 - problem.targets * values)
    losses = slack if loss == "hinge" else slack**2
    squares = float(np.sum(svc.coef_[0] ** 2)) + (bias / constant) ** 2
    return {
        "support": model.n_support,
        "rows_in_margin": int(np.count_nonzero(slack)),
        "outputs": model.n_features,
        "primal_objective": 0.5 * squares + float(problem.C @ losses),
        "bias": bias,
        "solved": bool(svc.n_iter_ < max_iter),
        "passes": int(svc.n_iter_),
        "fit_seconds": seconds,
        "kernel_values": problem.n,
        **write_whole(attempt, model),
    }


def machine(w: Vector, bias: float, *, as_csr: bool) -> Model:
    """Return a linear SVM whose only support vector is its weights.

    Parameters
    ----------
    w : ndarray, shape (d,), float64
    bias : float
    as_csr : bool
        Whether the support vector is CSR, as the rows of the run are.
    """
    row: Rows = np.ascontiguousarray(w[None, :], dtype=np.float32)
    row = sparse.csr_array(row) if as_csr else row
    return Model.of_sum(Kernel("linear"), row, np.ones(1), bias)


def _fit(svc: Any, problem: Problem) -> float:
    """Fit an SVM to the weighted rows; return the seconds that this took."""
    X = problem.X.read(0, problem.n)
    if is_sparse(X) and X.nnz <= _INDEX_MAX:  # neither library takes longer indices
        short = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
        X = sparse.csr_array((X.data, *short), shape=X.shape)
    weight = problem.C / problem.settings.C
    begin = time.perf_counter()
    _in_own_thread(lambda: svc.fit(X, problem.targets, sample_weight=weight))
    return time.perf_counter() - begin


def _in_own_thread(work: Callable[[], Any]) -> None:
    """Do work in a thread of its own, since one in compiled code does not react to Ctrl-C."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)  # so that it keeps no process alive
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if failed:
        raise failed[0]


def _objective(problem: Problem, beta: Vector) -> tuple[float, int]:
    """Return the dual objective, and the kernel values computed for it."""
    support = np.flatnonzero(beta)
    rows, b, dual = problem.take(support), beta[support], problem.dual_of(support)
    how: Any = {"dtype": np.float64, "threads": threads()}
    f, computed = kernel_product(problem.settings.kernel, rows, rows, b, **how)
    return objective(b, dual.gradient(f, b), dual), computed
