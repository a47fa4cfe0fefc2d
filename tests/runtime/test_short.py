"""Which runs are in this process because workers would start too late for them."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from dcsvm_dask import api
from dcsvm_dask.methods import resources
from dcsvm_dask.methods.plan import plan
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.short import SHORT, here_if_short, seconds_beside, threads_here
from tests.typical import COVTYPE, GOALS, SETTINGS

FEW = replace(COVTYPE, n_rows=3000, n_variables=3000, n_bytes=3000 * 216)
LITTLE = plan(replace(SETTINGS, clusters=()), GOALS, FEW)


def test_short_runs_are_here_unless_somebody_says_where() -> None:
    assert LITTLE.seconds(1) < SHORT
    assert here_if_short(Execution(), LITTLE) == Execution(workers=0)
    assert here_if_short(Execution(time_budget=9.0), LITTLE) == Execution(
        workers=0, time_budget=9.0
    )
    for asked in (
        Execution(workers=2),
        Execution(memory_limit="2GB"),
        Execution(scheduler="tcp://somewhere:8786"),
    ):
        assert here_if_short(asked, LITTLE) is asked


def test_long_runs_and_those_without_memory_have_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    execution = Execution()
    large = plan(SETTINGS, GOALS, COVTYPE)
    assert large.seconds(1) > SHORT
    assert here_if_short(execution, large) is execution
    monkeypatch.setattr(Execution, "memory", lambda _: LITTLE.most_bytes() - 1)
    assert here_if_short(execution, LITTLE) is execution


def test_a_task_of_a_short_run_uses_the_threads_that_workers_would_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    asked = Execution()
    here = here_if_short(asked, LITTLE)
    assert threads_here(asked, here) == 3
    # Who says where to run has what was said.
    assert threads_here(here, here_if_short(here, LITTLE)) == resources.threads()
    with resources.lent(4):
        assert threads_here(asked, here) == 4
    assert resources.threads() == 1


def test_runs_side_by_side_have_threads_of_their_own() -> None:
    met = threading.Barrier(2, timeout=30)
    seen: dict[int, tuple[int, int]] = {}

    def run(threads: int) -> None:
        with resources.lent(threads, 1):
            met.wait()  # both have begun, and none has ended
            seen[threads] = resources.threads(), resources.side_by_side()
            met.wait()

    both = [threading.Thread(target=run, args=(threads,)) for threads in (2, 5)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert seen == {2: (2, 1), 5: (5, 1)}
    assert (resources.threads(), resources.side_by_side()) == (1, 1)


def test_what_is_beside_the_training_depends_on_who_starts_workers() -> None:
    here, workers = (seconds_beside(Execution(workers=n)) for n in (0, 2))
    assert here is not None
    assert workers is not None
    assert 0.0 < here < workers
    assert seconds_beside(Execution(scheduler="tcp://somewhere:8786")) is None


@pytest.mark.long
def test_a_short_run_is_the_same_as_with_workers(tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    api.ingest((X.astype(np.float32), y), tmp_path / "data.zarr", scale="standard")
    runs = [
        api.train(tmp_path / "data.zarr", tmp_path / name, execution=execution, quiet=True)
        for name, execution in (("here", None), ("there", Execution(workers=2)))
    ]
    here, there = (one.status() for one in runs)
    assert len(here["peak_bytes"]) == 1
    assert here["objective"] == there["objective"]
    a, b = (one.decision_function(X.astype(np.float32)) for one in runs)
    np.testing.assert_array_equal(a, b)
