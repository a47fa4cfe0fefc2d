"""scikit-learn's callbacks follow a fit: machines in memory, stages of a run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV

import dcsvm_dask
from dcsvm_dask.estimators import DCSVC, NystromSVC
from dcsvm_dask.pipeline import levels as training_levels

Problem = Callable[[str], Any]


class Follows:
    """Keeps the events that it receives."""

    def __init__(self, stop_at: str = "", fail_at: str = "") -> None:
        self.reported: list[tuple[str, str]] = []
        self.stop_at, self.fail_at = stop_at, fail_at
        self.fitted: Any = None
        self.metadata: Any = None

    def setup(self, estimator: Any, context: Any) -> None:
        self.reported.append(("setup", context.task_name))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.reported.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None) -> None:
        self.reported.append(("begin", context.task_name))
        assert X is not None or context.estimator_name == "GridSearchCV"
        if context.task_name == self.fail_at:
            raise RuntimeError("a callback fails")

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, metadata: Any = None, fitted_estimator: Any = None
    ) -> bool:
        self.reported.append(("end", context.task_name))
        self.metadata = metadata
        if fitted_estimator is not None:
            self.fitted = fitted_estimator
        return context.task_name == self.stop_at

    def count(self, what: str, name: str) -> int:
        return self.reported.count((what, name))


class FollowsAll(Follows):
    """Is handed on to the estimators inside others."""

    max_propagation_depth = None


pytestmark = pytest.mark.skipif(not hasattr(DCSVC(), "set_callbacks"), reason="scikit-learn < 1.9")


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_machine_is_a_task(jobs: int, problem: Problem) -> None:
    X, y = problem("digits")
    weight = np.full(len(y), 2.0)
    follows = Follows()
    model = DCSVC(n_jobs=jobs).set_callbacks(follows).fit(X, y, sample_weight=weight)
    assert follows.reported[:2] == [("setup", "fit"), ("begin", "fit")]
    assert follows.reported[-2:] == [("end", "fit"), ("teardown", "fit")]
    assert follows.count("begin", "machine") == follows.count("end", "machine") == 45
    assert len(follows.reported) == 94
    assert follows.metadata == {"sample_weight": weight}
    np.testing.assert_array_equal(follows.fitted.predict(X), model.predict(X))
    silent = DCSVC(n_jobs=jobs).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(silent.dual_coef_, model.dual_coef_)
    assert clone(model)._skl_callbacks == [follows]


@pytest.mark.parametrize("method", [DCSVC(gamma=0.05, stop_at=0), NystromSVC(gamma=0.05, rank=50)])
def test_each_stage_of_a_run_is_a_task(method: Any, problem: Problem, tmp_path: Any) -> None:
    X, y = problem("breast_cancer")
    follows = Follows()
    method = clone(method).set_params(run=tmp_path / "run").set_callbacks(follows).fit(X, y)
    stages = list(dcsvm_dask.open_run(tmp_path / "run").status()["stages"])
    assert [name for what, name in follows.reported if what == "end"] == [*stages, "fit"]
    assert [name for what, name in follows.reported if what == "begin"] == ["fit", *stages]
    np.testing.assert_array_equal(follows.fitted.predict(X), method.predict(X))


def test_who_stops_a_run_gets_the_model_so_far(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 1000)
    X, y = problem("usps")
    X, y = X[:3000], y[:3000] % 2
    follows = Follows(stop_at="level-1")
    model = DCSVC(gamma=2.0, callbacks=[dcsvm_dask.Callback()]).set_callbacks(follows).fit(X, y)
    assert model.level_ == 1
    assert follows.count("end", "level-1") == 1
    assert follows.reported[-2:] == [("end", "fit"), ("teardown", "fit")]


def test_callbacks_of_a_search_reach_the_fits_inside(problem: Problem) -> None:
    X, y = problem("wine")
    follows = FollowsAll()
    search = GridSearchCV(DCSVC(), {"C": [1.0, 10.0]}, cv=2).set_callbacks(follows)
    search.fit(X, y)
    assert follows.count("end", "machine") == 3 * (2 * 2 + 1)
    assert follows.count("setup", "fit") == 1


@pytest.mark.parametrize("fail_at", ["fit", "machine"])
def test_what_a_callback_raises_ends_the_fit_and_it_is_let_go(
    fail_at: str, problem: Problem
) -> None:
    X, y = problem("wine")
    follows = Follows(fail_at=fail_at)
    model = DCSVC().set_callbacks(follows)
    with pytest.raises(RuntimeError, match="a callback fails"):
        model.fit(X, y)
    assert follows.reported[-1] == ("teardown", "fit")
    model.set_callbacks().fit(X, y)
    assert follows.reported[-1] == ("teardown", "fit")


@pytest.mark.long
def test_an_older_scikit_learn_has_none_and_needs_none() -> None:
    program = """
import builtins
own = builtins.__import__

def older(name, globals=None, locals=None, fromlist=(), level=0):
    if name == "sklearn" and "callback" in (fromlist or ()):
        raise ImportError("cannot import name 'callback'")
    return own(name, globals, locals, fromlist, level)

builtins.__import__ = older
from sklearn.datasets import load_wine
from dcsvm_dask.estimators import DCSVC, NystromSVC
X, y = load_wine(return_X_y=True)
model = DCSVC().fit(X, y)
assert not hasattr(model, "set_callbacks")
assert NystromSVC(rank=20, gamma=1e-3).fit(X, y > 0).score(X, y > 0) > 0.5
print(len(model.support_))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(DCSVC().fit(*load_wine(return_X_y=True)).support_)
