"""What runs leave on a scheduler that others use: nothing."""

from __future__ import annotations

import contextlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from distributed import Client, LocalCluster

from dcsvm_dask.diagnostics.dashboard.attach import DashboardPage
from dcsvm_dask.diagnostics.dashboard.plugin import NAME, PagePlugin
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.caretaker import Caretaker, carriers
from dcsvm_dask.runtime.cluster.connect import prepared
from dcsvm_dask.runtime.worker import PrepareWorker


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    where = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **where) as found:
        yield found


@pytest.fixture
def begin(cluster: LocalCluster) -> Iterator[Callable[[], Client]]:
    """Return a starter of clients that prepare workers as for a run, and bring the page.

    None of them takes its things away, as if it was killed.
    """
    stacks, clients = list[contextlib.ExitStack](), list[Client]()

    def call() -> Client:
        clients.append(Client(cluster.scheduler_address, set_as_default=False))
        stacks.append(contextlib.ExitStack())
        announcer = Announcer("run", [DashboardPage()])
        stacks[-1].enter_context(prepared(clients[-1], announcer, PrepareWorker(shield=False)))
        return clients[-1]

    yield call
    for client in clients:
        client.close()
    for stack in stacks:
        stack.close()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120.0
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def status(cluster: LocalCluster, page: str) -> int:
    port = cluster.scheduler.http_server.port
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def left(cluster: LocalCluster) -> tuple[set[str], int, int]:
    """Return our plugins on the scheduler, and how many there are for workers and in one."""
    scheduler = cluster.scheduler
    worker = next(iter(cluster.workers.values()))
    ours = {name for name in scheduler.plugins if name.startswith("dcsvm")}
    prepares = [name for name in scheduler.worker_plugins if name.startswith("dcsvm")]
    there = [name for name in worker.plugins if name.startswith("dcsvm")]
    return ours, len(prepares), len(there)


@pytest.mark.long
def test_nothing_is_left_after_clients_that_were_killed(
    cluster: LocalCluster, begin: Callable[[], Client]
) -> None:
    first, second = begin(), begin()
    both = {NAME, Caretaker.name}
    assert left(cluster) == (both, 2, 2)
    assert carriers(cluster.scheduler) == {first.id, second.id}
    assert status(cluster, "/dcsvm") == 200
    first.close()
    until(lambda: left(cluster) == (both, 1, 1))
    assert status(cluster, "/dcsvm") == 200
    second.close()
    until(lambda: left(cluster) == (set(), 0, 0))
    assert status(cluster, "/dcsvm") == 404
    assert status(cluster, "/status") == 200
    # The next run brings all of it again.
    third = begin()
    assert left(cluster) == (both, 1, 1)
    assert status(cluster, "/dcsvm") == 200
    third.close()
    until(lambda: left(cluster) == (set(), 0, 0))


def test_a_page_that_the_scheduler_was_started_with_stays(
    cluster: LocalCluster, begin: Callable[[], Client]
) -> None:
    scheduler: Any = cluster.scheduler
    cluster.sync(
        scheduler.register_scheduler_plugin, PagePlugin(stays=True), name=NAME, idempotent=True
    )
    begin().close()
    until(lambda: left(cluster) == ({NAME}, 0, 0))
    assert status(cluster, "/dcsvm") == 200
