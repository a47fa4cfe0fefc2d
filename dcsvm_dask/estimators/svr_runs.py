"""Regressors trained as a run, by divide and conquer, and read again."""

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
from dcsvm_dask.tasks import OF_TASKS, checked_quantiles, is_several

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def fit(
    estimator: Any,
    kernel: Kernel,
    X: Rows,
    targets: Vector,
    weights: Vector | None,
    tasks: FitTasks,
) -> None:
    """Train a `TaskRegressor` as a run, to the exact model or an early one.

    Parameters
    ----------
    weights : ndarray, shape (n,), float64, optional
        Weights of rows, 0 or more.
    tasks : FitTasks
        Reports its stages to callbacks.
    """
    rows = np.arange(len(targets)) if weights is None else np.flatnonzero(weights)
    own: dict[str, Any] = {"task": estimator.task_name}
    for word in _words(estimator.task_name):
        value = getattr(estimator, word)
        if is_several(value):
            own[word] = list(checked_quantiles(value))
        else:
            own[word] = value if isinstance(value, str) else float(value)
    with trained_as_asked(estimator, kernel, X, targets, weights, tasks, own) as folder:
        take_over(estimator, folder, rows, len(targets), X.__getitem__)


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
        estimator._learn_crossing(None)
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
    estimator._learn_crossing(record.get("crossing", 0.0))


def restored(kind: type[Any], run: Any) -> Any:
    """Return the regressor that a run has trained; see `TaskRegressor.from_run`."""
    folder, settings, data = opened(run, kind.task_name)
    task = settings.make_task()
    own = {word: getattr(task, word) for word in _words(kind.task_name)}
    own = {word: list(value) if is_several(value) else value for word, value in own.items()}
    made = with_parameters(kind, folder, settings, data, **own)
    take_over(made, folder, np.arange(data.n_rows), data.n_rows, data.rows.take)
    return made


def _words(task: str) -> list[str]:
    """Return the parameters of a task, which estimators and `dcsvm_dask.train` name alike."""
    return [word for word, owners in OF_TASKS.items() if task in owners]
