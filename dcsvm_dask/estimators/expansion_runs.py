"""Estimators with one kernel expansion trained as a run, by divide and conquer, and read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators.early import learn_early
from dcsvm_dask.estimators.fit_tasks import FitTasks
from dcsvm_dask.estimators.restoring import opened, with_parameters
from dcsvm_dask.estimators.runs import reached, trained_as_asked
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers import Solution
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def fit(
    estimator: Any,
    kernel: Kernel,
    X: Rows,
    targets: Vector | None,
    weights: Vector | None,
    tasks: FitTasks,
) -> None:
    """Train a `KernelExpansion` as a run, to the exact model or an early one.

    Parameters
    ----------
    targets : ndarray, shape (n,), float64, optional
        None: rows have none, as those of a one-class SVM.
    weights : ndarray, shape (n,), float64, optional
        Weights of rows, 0 or more.
    tasks : FitTasks
        Reports its stages to callbacks.
    """
    n = int(X.shape[0])
    rows = np.arange(n) if weights is None else np.flatnonzero(weights)
    with trained_as_asked(estimator, kernel, X, targets, weights, tasks) as folder:
        take_over(estimator, folder, rows, n, X.__getitem__)


def take_over(
    estimator: Any, run: RunFolder, rows: Index, n: int, take: Callable[[Index], Rows]
) -> None:
    """Set the attributes of what a run has reached.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_run,)
        Which of all rows those of the run are.
    n : int
        Number of all rows.
    take : callable
        Returns some of all rows.
    """
    choice, node, model = reached(run)
    if choice.level:
        learn_early(estimator, model, choice.level)
        return
    alpha, record = node.read("alpha"), node.record
    each = record.get("of_quantiles") or {key: [record[key]] for key in ("objective", "violation")}
    # Of a single SVM, rounds of blocks do not count their steps.
    steps = each.get("iterations", [1])
    solutions = []
    for number, own in enumerate(alpha):
        beta, violation = np.zeros(n), float(each["violation"][number])
        beta[rows] = own
        solutions.append(
            Solution(
                beta=beta,
                gradient=np.empty(0),
                objective=float(each["objective"][number]),
                violation=violation,
                n_iter=int(steps[number]),
                converged=violation <= estimator.tol,
                bias=float(model.bias[0, number]),
            )
        )
    estimator._learn_rows(solutions, take)
    estimator._learn_of_run(record)


def restored(kind: type[Any], run: Any) -> Any:
    """Return the estimator that a run has trained; see `WithRun.from_run`."""
    folder, settings, data = opened(run, kind.task_name)
    made = with_parameters(kind, folder, settings, data)
    take_over(made, folder, np.arange(data.n_rows), data.n_rows, data.rows.take)
    return made
