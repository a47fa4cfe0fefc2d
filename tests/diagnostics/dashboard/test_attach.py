"""How the page comes into the dashboard of a scheduler."""

from __future__ import annotations

import importlib
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from dcsvm_dask.diagnostics.colours import STEPS
from dcsvm_dask.diagnostics.dashboard import plugin as task_colours
from dcsvm_dask.diagnostics.dashboard.attach import DashboardPage
from dcsvm_dask.diagnostics.dashboard.plugin import NAME, PagePlugin


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give a client of a scheduler without workers, whose tasks have Dask's colours."""
    from distributed import Client, LocalCluster

    for module, names in task_colours.LOOKED_UP.items():
        found = importlib.import_module(module)
        for name in names:
            monkeypatch.setattr(found, name, getattr(found, name))  # so that it is put back
    where = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=0, **where) as cluster, Client(cluster) as made:
        yield made


def read(client: Any, page: str) -> str:
    port = client.cluster.scheduler.http_server.port
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10) as answer:
        return str(answer.read().decode())


def test_a_run_brings_its_page_and_the_next_one_uses_it(client: Any) -> None:
    scheduler = client.cluster.scheduler
    served = len(scheduler.http_application.applications)
    for _ in range(2):
        assert DashboardPage().on_client(client) is None
    assert len(scheduler.http_application.applications) == served + 1
    page = read(client, "/dcsvm")
    assert "statics/css/base.css" in page
    assert "Levels and their blocks" in page
    # Dask's own pages name it once in their menu.
    assert read(client, "/status").count('<a href="dcsvm">DC-SVM</a>') == 1
    colour = importlib.import_module("distributed.diagnostics.task_stream").color_of
    assert colour("dcsvm_l4_solve") == STEPS["solve"]
    assert colour("inc") == colour.before("inc")


def test_where_it_cannot_be_a_sentence_says_so(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(self: Any, scheduler: Any) -> None:
        raise ModuleNotFoundError("No module named 'bokeh'", name="bokeh")

    monkeypatch.setattr(PagePlugin, "start", start)
    said = DashboardPage().on_client(client)
    assert said == (
        "no page DC-SVM in the dashboard: the scheduler has no bokeh; pip install bokeh there"
    )
    assert NAME not in client.cluster.scheduler.plugins
