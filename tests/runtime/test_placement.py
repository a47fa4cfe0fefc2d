"""Runs on a scheduler that others use: their turn, their workers, what annotations say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster, Worker, span

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.graph import COMMIT, Stage, many, single
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import TaskDone
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.placement import Placement, workers_of
from dcsvm_dask.runtime.submitting import submit, to_dask
from dcsvm_dask.runtime.tasks import RETRIES
from tests.marks import long

IN_THREADS = {"processes": False, "dashboard_address": ":0"}


def nothing(**_: Any) -> dict[str, Any]:
    """A step."""
    return {}


LAYERS = (single("cluster", nothing), many("solve", nothing, 3, "slot"), single(COMMIT, nothing))
STAGES = [Stage("level-2", LAYERS, "l2"), Stage("level-1", LAYERS, "l1")]


@pytest.fixture
def empty() -> Iterator[Any]:
    """Give a client of a scheduler whose tasks wait, since there are no workers."""
    with LocalCluster(n_workers=0, **IN_THREADS) as cluster, Client(cluster) as client:
        yield client


def submitted(client: Any, name: str = "run") -> list[Any]:
    """Submit a graph; return its tasks as the scheduler has them, in the order of the graph."""
    graph, last = to_dask(name, "0123abcd", STAGES)
    future = submit(client, graph, last)
    keys = [key for layer in graph.layers.values() for key in layer]
    found = known(client, *keys)
    future.release()
    return found


def known(client: Any, *keys: Any) -> list[Any]:
    """Return some tasks as the scheduler has them, once it has ranked and annotated them."""
    tasks = client.cluster.scheduler.tasks
    while not all(key in tasks and tasks[key].state != "released" for key in keys):
        time.sleep(0.01)
    return [tasks[key] for key in keys]


def test_tasks_rank_with_everybody_elses_and_among_themselves_in_their_order(empty: Any) -> None:
    first = empty.submit(sum, [1], pure=False)
    before = known(empty, first.key)[0].priority
    ours = [task.priority for task in submitted(empty)]
    second = empty.submit(sum, [2], pure=False)
    after = known(empty, second.key)[0].priority
    assert {rank[0] for rank in (before, *ours, after)} == {0}
    assert ours == sorted(ours)
    assert len(set(ours)) == len(ours)
    # What others submit in between is not left to wait for the whole of our graph.
    assert before <= ours[0] <= after <= ours[-1]


def test_what_is_annotated_around_a_run_is_applied_to_its_tasks(empty: Any) -> None:
    assert {task.retries for task in submitted(empty)} == {RETRIES}
    with (
        span("mine"),
        dask.annotate(priority=7, retries=5, resources={"SVM": 2}, workers=["tcp://10.0.0.5:1"]),
    ):
        found = submitted(empty, "other")
    spans = empty.cluster.scheduler.extensions["spans"].spans
    for task in found:
        assert task.priority[0] == -7
        assert task.retries == 5
        assert task.resource_restrictions == {"SVM": 2}
        assert task.worker_restrictions == {"tcp://10.0.0.5:1"}
        assert spans[task.group.span_id].name == ("mine",)


@pytest.fixture
def shared() -> Iterator[Any]:
    """Give a cluster of a small worker of somebody's, and a larger one that has a resource."""
    small = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "200MB"}
    with (
        dask.config.set({"distributed.worker.memory.pause": False}),
        LocalCluster(**small, **IN_THREADS) as cluster,
    ):
        worker = cluster.sync(add_worker, cluster)
        with Client(cluster) as client:
            client.wait_for_workers(2)
        yield cluster
        cluster.sync(worker.close)


async def add_worker(cluster: Any) -> Worker:
    """Start a worker called `svm`."""
    return await Worker(
        cluster.scheduler_address,
        nthreads=1,
        name="svm",
        resources={"SVM": 1},
        memory_limit="4GiB",
        dashboard_address=":0",
    )


class Workers(Callback):
    """Notes who did something."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def on_task(self, event: TaskDone) -> None:
        self.seen.add(event.worker)


def worker_called(cluster: Any, name: str) -> str:
    workers = cluster.scheduler.workers
    return next(address for address, worker in workers.items() if str(worker.name) == name)


@pytest.mark.long
@pytest.mark.parametrize("how", ["resources", long("workers"), long("address")])
def test_a_restricted_run_uses_and_looks_at_the_workers_that_it_may_use_only(
    how: str, shared: Any, train: Callable[..., api.Run], undisturbed: api.Run, look: Any
) -> None:
    mine = worker_called(shared, "svm")
    ways: dict[str, dict[str, Any]] = {
        "resources": {"resources": {"SVM": 1}},
        "workers": {"workers": ["svm"]},
        "address": {"workers": mine},
    }
    reported = Workers()
    # On the other one, whose memory is too small for it, the run would be refused.
    with dask.annotate(**ways[how]):
        run = train(execution=Execution(scheduler=shared.scheduler_address), callbacks=[reported])
    assert reported.seen == {mine}
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


def test_the_command_says_where_its_tasks_run_and_in_which_turn(
    shared: Any,
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from click.testing import CliRunner

    from dcsvm_dask.cli import main

    def train(*words: object) -> Any:
        arguments = ["train", str(small), "--run", str(tmp_path / "run"), *map(str, words)]
        return CliRunner().invoke(main, arguments)

    seen: list[dict[str, Any]] = []

    def note(*_: object, **__: object) -> None:
        seen.append(dask.get_annotations())
        raise InputError("enough")

    with monkeypatch.context() as patch:
        patch.setattr(api, "train", note)
        where = ("--scheduler", shared.scheduler_address)
        placed = ("--resources", "SVM=1", "--worker", "svm", "--priority", -3)
        assert train(*where, *placed).exit_code == 2
    assert seen == [{"priority": -3.0, "workers": ["svm"], "resources": {"SVM": 1.0}}]
    for words, said in (
        (("--resources", "SVM=1"), "resources: is for the workers of a scheduler"),
        ((*where, "--resources", "SVM"), "resources must be NAME=N with N above 0, got 'SVM'"),
        ((*where, "--wait", "soon"), "wait: 'soon' is no duration"),
    ):
        found = train(*words)
        assert found.exit_code == 2
        assert said in found.output


def test_placements() -> None:
    assert Placement.here() == Placement()
    address = "tcp://127.0.0.1:4711"
    for workers, allowed in (
        ((), True),
        (("a",), True),
        ((address,), True),
        (("127.0.0.1:4711",), True),
        (("127.0.0.1",), True),
        (("localhost",), True),
        (("b", "tcp://127.0.0.1:4712"), False),
    ):
        assert Placement(workers).allows(address, "a", {}) is allowed, workers
    assert not Placement((), {"GPU": 1}).allows(address, "a", {"CPU": 1})
    with dask.annotate(workers=["b"], allow_other_workers=True):
        assert Placement.here() == Placement()


def test_workers_are_those_of_the_scheduler_whatever_the_client_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with LocalCluster(n_workers=2, **IN_THREADS) as cluster, Client(cluster) as client:
        held = client.scheduler_info(n_workers=-1)
        # As after the client's own periodic call, which asks for no workers.
        monkeypatch.setattr(client, "scheduler_info", lambda **_: held | {"workers": {}})
        assert set(workers_of(client)) == set(held["workers"])
