"""Workers that are silent, and what is known of those that are gone."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from tornado.ioloop import IOLoop

from dcsvm_dask import api
from dcsvm_dask.diagnostics.lines import fault
from dcsvm_dask.runtime import on_cluster, watching
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.capacity import Share, memory_of_slots
from dcsvm_dask.runtime.cluster.connect import prepared
from dcsvm_dask.runtime.events import Fault, WorkerLost, WorkerSilent
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.exits import TOPIC, described
from dcsvm_dask.runtime.failures import tasks_failed
from dcsvm_dask.runtime.watching import MEMORY_TOPIC, WorkerWatch
from dcsvm_dask.runtime.worker import PrepareWorker

A, B = "tcp://10.0.0.1:1", "tcp://10.0.0.1:2"


class Recorder(Callback):
    """Keeps what went wrong."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def on_fault(self, event: Fault) -> None:
        self.faults.append(event)


def workers(**seen: float) -> dict[str, dict[str, Any]]:
    limit = 906 << 20
    return {
        address: {"last_seen": seen[name], "memory_limit": limit}
        for name, address in (("a", A), ("b", B))
    }


def test_a_worker_whose_heartbeat_stands_still_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    watch = WorkerWatch(Announcer("run", []))
    reported = []
    for now[0], a in ((0, 5), (20, 5), (29, 5), (31, 5), (50, 5), (60, 6), (95, 6)):
        # The scheduler's clock is not this one's.
        reported.append([message["worker"] for message in watch.look(workers(a=a, b=1e9 + now[0]))])
    assert reported == [[], [], [], [A], [], [], [A]]
    assert watch.why(A) == "it had been silent"
    event = WorkerSilent("run", 0.0, A, 31.2)
    assert fault(event).startswith(f"worker {A} has been silent for 31 s: it is stopped, hangs")


def test_the_reason_of_a_loss_is_reported_with_it() -> None:
    reported = Recorder()
    announcer = Announcer("run", [reported])
    watch = WorkerWatch(announcer)
    list(watch.look(workers(a=0.0, b=0.0)))
    watch.ended(MEMORY_TOPIC, {"worker": A, "pid": 1, "rss": 892 << 20})
    watch.ended(TOPIC, {"worker": A, "status": -15, "limit": 906 << 20})
    watch.ended(TOPIC, {"worker": B, "status": 3, "limit": None})
    why = "it was ended for its memory, 892 MiB of 906 MiB"
    assert [watch.why(worker) for worker in (A, B, "tcp://10.0.0.1:3")] == [
        why,
        "its process ended with status 3",
        "",
    ]
    assert fault(WorkerLost("run", 0.0, A, [], why)) == (
        f"worker {A} was lost ({why}); its tasks run again"
    )
    assert described(-9, 906 << 20) == (
        "its process was ended by SIGKILL, as the system does where memory runs out; "
        "its limit was 906 MiB"
    )
    assert described(-15, None) == "its process was ended by SIGTERM"
    killed = type("KilledWorker", (Exception,), {"task": ("dcsvm_l2_solve-ab", "solve-0001")})()
    assert str(tasks_failed(killed, why)).startswith(
        "the workers that ran dcsvm_l2_solve-ab-solve-0001 died, one after the other; "
        f"of the last: {why}: "
    )


def test_a_loss_is_read_from_the_topic_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or from its nanny alone, if it has come and gone between two looks."""
    later: list[Callable[[], None]] = []
    loop = SimpleNamespace(call_later=lambda _, call: later.append(call))
    monkeypatch.setattr(IOLoop, "current", lambda: loop)
    reported, followed = Recorder(), list[str]()
    announcer = Announcer("run", [reported])
    watch = WorkerWatch(announcer, followed.append)
    watch.follow([A])
    list(watch.look(workers(a=0.0, b=0.0)))
    assert followed == [A, B]
    gone = {"action": "remove-worker", "processing-tasks": {"solve-0001": 1}}
    watch.lost(A, {"action": "add-worker"})
    watch.lost(B, {**gone, "expected": True})
    watch.lost(A, {**gone, "expected": False})
    watch.ended(TOPIC, {"worker": A, "status": 3, "limit": None})
    watch.ended(TOPIC, {"worker": "tcp://10.0.0.1:3", "status": 4, "limit": None})
    for call in later:
        call()
    announcer.drain()
    assert [(event.worker, event.tasks, event.why) for event in lost_of(reported)] == [
        (A, ["solve-0001"], "its process ended with status 3"),
        ("tcp://10.0.0.1:3", [], "its process ended with status 4"),
    ]


def lost_of(reported: Recorder) -> list[WorkerLost]:
    return [event for event in reported.faults if isinstance(event, WorkerLost)]


def test_copies_of_anybodys_data_leave_the_connection_of_a_run() -> None:
    """Dask's scheduler cannot send its event of them, and closes who subscribes to it."""
    here = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "protocol": "tcp"}
    with (
        LocalCluster(dashboard_address=":0", **here) as cluster,
        Client(cluster, set_as_default=False) as client,
        Client(cluster, set_as_default=False) as other,
        prepared(client, Announcer("run", []), PrepareWorker(shield=False)),
    ):
        held = client.submit(sum, [1, 2])
        assert held.result() == 3
        copied = other.scatter([5], broadcast=True)
        assert other.submit(sum, copied).result() == 5
        time.sleep(0.5)
        assert not held.cancelled()
        assert client.id in cluster.scheduler.clients
        assert client.submit(sum, [held, 1]).result() == 4


class KillsOnce(PrepareWorker):
    """Ends the process of the first worker that it prepares."""

    def __init__(self, mark: Path) -> None:
        super().__init__(shield=False)
        self.mark = mark

    async def setup(self, worker: Any) -> None:
        if not self.mark.exists():
            self.mark.touch()
            os._exit(1)
        await super().setup(worker)


@pytest.mark.long
def test_a_worker_that_goes_away_while_it_is_prepared_ends_no_run(tmp_path: Path) -> None:
    """Dask's scheduler closes the connection over which it was asked to prepare workers."""
    here = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    plugin = KillsOnce(tmp_path / "mark")
    with (
        LocalCluster(silence_logs=logging.CRITICAL, **here) as cluster,
        Client(cluster, set_as_default=False) as client,
        prepared(client, Announcer("run", []), plugin),
    ):
        assert plugin.mark.exists()
        client.wait_for_workers(2, 60)
        assert client.submit(sum, [1, 2]).result() == 3
        registered = client.run(lambda dask_worker: plugin.name in dask_worker.plugins)
        assert list(registered.values()) == [True, True]


def test_the_smallest_worker_has_a_name() -> None:
    found = memory_of_slots(
        {
            A: {"memory_limit": 800, "nthreads": 2},
            B: {"memory_limit": 500, "nthreads": 1},
            "c": {"memory_limit": 0, "nthreads": 1},
        }
    )
    assert found == 400
    assert isinstance(found, Share)
    assert found.worker == A


@pytest.mark.long
def test_a_worker_that_is_stopped_and_then_killed(
    dask_cluster: Any,
    train: Callable[..., api.Run],
    undisturbed: api.Run,
    look: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One that only waits for a processor is not silent for that long.
    monkeypatch.setattr(watching, "SILENT_SECONDS", 15.0)
    monkeypatch.setattr(on_cluster, "LOOK_SECONDS", 0.5)
    words = ("--preload-nanny", "dcsvm_dask.runtime.preload", "--memory-limit", "2GiB")
    address, _ = dask_cluster.start(2, worker=words)
    pids: dict[str, int] = {}

    class StopsOne(Recorder):
        """Stops a worker after a level, and kills it when that has been reported."""

        def on_commit(self, event: Any) -> None:
            if event.stage == "level-2":
                with Client(address) as client:
                    pids.update(client.run(os.getpid))
                os.kill(min(pids.values()), signal.SIGSTOP)

        def on_fault(self, event: Fault) -> None:
            super().on_fault(event)
            if isinstance(event, WorkerSilent):
                os.kill(pids[event.worker], signal.SIGKILL)

    reported = StopsOne()
    run = train(execution=Execution(scheduler=address), callbacks=[reported])
    silent, lost = reported.faults
    assert isinstance(silent, WorkerSilent)
    assert pids[silent.worker] == min(pids.values())
    assert isinstance(lost, WorkerLost)
    assert lost.worker == silent.worker
    assert lost.why.startswith("it had been silent; its process was ended by SIGKILL")
    assert lost.why.endswith("its limit was 2,048 MiB")
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
