"""Schedulers that have no worker yet, and clusters that adapt, which have none without tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import LocalCluster, Worker

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime import arrival, on_cluster, placement, tasks
from dcsvm_dask.runtime.arrival import in_words
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import StageDone
from dcsvm_dask.runtime.execution import Execution

ADAPTS = {"minimum": 0, "maximum": 1, "interval": "100ms", "wait_count": 20}


@contextmanager
def adapting(**how: Any) -> Iterator[LocalCluster]:
    """Give a cluster that starts a worker for tasks and ends it without."""
    words = {"n_workers": 0, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.memory.pause": False}),
        LocalCluster(**words, **how) as cluster,
    ):
        cluster.adapt(**ADAPTS)
        yield cluster


def test_a_scheduler_without_workers_is_waited_for_and_then_refused(
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(arrival, "REPORT_AFTER", 0.2)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty:
        address = empty.scheduler_address
        where = Execution(scheduler=address, wait=1.0)
        said = f"the scheduler at {address} had no worker for 1s; start some by `dask worker"
        with pytest.raises(InputError, match=said):
            train(execution=where, quiet=False, progress="lines")
        assert f"the scheduler at {address} has no worker yet; waiting, at most 1s" in (
            capsys.readouterr().err
        )
        said = "had no worker called a or b with the resources GPU=2 for 1s"
        with (
            dask.annotate(workers=["a", "b"], resources={"GPU": 2}),
            pytest.raises(InputError, match=said),
        ):
            train(execution=where)
    assert not (tmp_path / "run").exists()


def test_a_cluster_that_adapts_from_nothing_trains(
    train: Callable[..., api.Run], undisturbed: api.Run, look: Any
) -> None:
    with adapting(memory_limit="4GiB") as cluster:
        run = train(execution=Execution(scheduler=cluster.scheduler_address))
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


def test_workers_that_come_later_are_looked_at_as_those_that_are_there(
    train: Callable[..., api.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        adapting(memory_limit="200MB") as cluster,
        pytest.raises(InputError, match="has 191 MiB and ends at 95% of it"),
    ):
        train(execution=Execution(scheduler=cluster.scheduler_address))
    assert not (tmp_path / "run").exists()
    # The first one is sent away again before it is asked what it sees.
    looked: Iterator[dict[str, Any]] = iter([{}])
    workers_of = placement.workers_of
    monkeypatch.setattr(on_cluster, "workers_of", lambda client: next(looked, workers_of(client)))
    monkeypatch.setattr(on_cluster, "complaint", lambda run, data: f"{run}: there is no run")
    with (
        adapting(memory_limit="4GiB") as cluster,
        pytest.raises(InputError, match=r"worker inproc://.*: there is no run.* every worker sees"),
    ):
        train(execution=Execution(scheduler=cluster.scheduler_address))


@pytest.mark.failing_tasks
def test_a_worker_that_comes_later_and_sees_nothing_is_named(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(*_: object, **__: object) -> None:
        # The workers that were there at the start have seen all.
        monkeypatch.setattr(on_cluster, "complaint", lambda run, data: "there is no run")
        raise InputError("RUN: there is no run (no run.json)")

    monkeypatch.setattr(tasks, "run_node", blind)
    where = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with (
        LocalCluster(**where) as cluster,
        pytest.raises(InputError, match=r"worker inproc://.*: there is no run; put the run and"),
    ):
        train(execution=Execution(scheduler=cluster.scheduler_address))


@pytest.mark.long
def test_a_worker_that_comes_later_and_is_too_small_is_reported(
    train: Callable[..., api.Run],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(on_cluster, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(on_cluster, "WAIT_SECONDS", 0.01)  # this run is over in a second
    where = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.memory.pause": False}),
        LocalCluster(memory_limit="4GiB", **where) as cluster,
    ):
        added: list[Worker] = []

        class AddsOne(Callback):
            """Starts a small worker when a level is committed."""

            def on_commit(self, event: StageDone) -> None:
                if event.stage == "level-2":
                    added.append(cluster.sync(small_worker, cluster.scheduler_address))

        train(
            execution=Execution(scheduler=cluster.scheduler_address),
            callbacks=[AddsOne()],
            quiet=False,
            progress="lines",
        )
        cluster.sync(added[0].close)
    found = [line for line in capsys.readouterr().err.splitlines() if "warning: this run" in line]
    assert len(found) == 1
    assert f"but worker {added[0].address} has 191 MiB" in found[0]


async def small_worker(scheduler: str) -> Worker:
    """Start a worker."""
    return await Worker(scheduler, nthreads=1, memory_limit="200MB", dashboard_address=":0")


def test_times_to_wait_in_words() -> None:
    assert [in_words(s) for s in (600.0, 90.0, 7200.0, 0.5)] == ["10m", "90s", "2h", "0.5s"]
