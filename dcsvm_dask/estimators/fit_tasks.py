"""What scikit-learn's callbacks (`sklearn.callback`, from 1.9 on) see of a fit.

Its tasks are SVMs where they are solved in memory, and stages where it is a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


class _Silent:
    """An estimator that no callbacks can be set for."""


try:
    from sklearn import callback
except ImportError:  # scikit-learn below 1.9 has none
    callback = None

WithCallbacks: Any = _Silent if callback is None else callback.CallbackSupportMixin
"""Base class of estimators that callbacks can be set for."""


def sets_up_callbacks(method: Method) -> Method:
    """Decorate the method that makes the `FitTasks`: callbacks are let go when it is left."""
    return method if callback is None else callback.with_callbacks(method)


def _has_callbacks(estimator: Any) -> bool:
    """Return whether an estimator, or one that it is a part of, has callbacks."""
    if not hasattr(estimator, "_init_callback_context"):
        return False
    return bool(getattr(estimator, "_skl_callbacks", ())) or hasattr(
        estimator, "_parent_callback_ctx"
    )


class FitTasks:
    """The tasks of a fit, as callbacks see them that were set by ``set_callbacks``.

    Parameters
    ----------
    estimator : WithCallbacks
        Its callbacks are set up.
    X, y : array-like
        What it is fitted to.
    count : int or None
        How many tasks there are; None: that is not known.
    metadata : dict, optional
        What else was given to `fit`.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        count: int | None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self._estimator, self._lock = estimator, threading.Lock()
        self._about: dict[str, Any] = {"X": X, "y": y, "metadata": metadata}
        self._fit: Any = None
        if _has_callbacks(estimator):
            how = {"max_subtasks": count, "sequential_subtasks": count is None}
            self._fit = estimator._init_callback_context(**how)
            self._fit.call_on_fit_task_begin(estimator=estimator, **self._about)

    @property
    def are_followed(self) -> bool:
        """Whether the estimator has callbacks."""
        return self._fit is not None

    def begin(self, name: str, number: int | None = None) -> Any:
        """Tell that a task begins; return what `end` takes."""
        if self._fit is None:
            return None
        with self._lock:
            task = self._fit.subcontext(task_name=name, task_id=number)
            return task.call_on_fit_task_begin(estimator=self._estimator, **self._about)

    def end(self, task: Any) -> bool:
        """Tell that a task has ended; whether somebody wants the fit to stop."""
        if task is None:
            return False
        with self._lock:
            return bool(task.call_on_fit_task_end(estimator=self._estimator, **self._about))

    @contextmanager
    def machine(self, number: int) -> Iterator[None]:
        """Tell of an SVM that is solved meanwhile; all of them are needed, so none stops."""
        task = self.begin("machine", number)
        yield
        self.end(task)

    def done(self) -> None:
        """Tell that the estimator is fitted."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(
                estimator=self._estimator, **self._about, reconstruction_attributes={}
            )
