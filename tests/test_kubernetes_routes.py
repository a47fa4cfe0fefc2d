"""The scheduler of `cluster/kubernetes.yaml` serves all that Dask's own does, and the API."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import dask
import distributed.config  # noqa: F401  (its settings)
import pytest
import yaml

PRESET = Path(__file__).parents[1] / "cluster" / "kubernetes.yaml"
ROUTES = "distributed.scheduler.http.routes"
API = "distributed.http.scheduler.api"


@pytest.fixture(scope="module")
def routes() -> list[str]:
    """Give the list that the preset sets."""
    cluster = next(yaml.safe_load_all(PRESET.read_text()))
    container = cluster["spec"]["scheduler"]["spec"]["containers"][0]
    name = "DASK_" + ROUTES.replace(".", "__").upper()
    return list(json.loads(next(e["value"] for e in container["env"] if e["name"] == name)))


def test_the_routes_are_those_of_dask_and_the_api(routes: list[str]) -> None:
    assert {*dask.config.get(ROUTES), API} <= {*routes}


def test_styles_metrics_and_the_api_are_served(routes: list[str]) -> None:
    from distributed import LocalCluster

    where = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with dask.config.set({ROUTES: routes}), LocalCluster(n_workers=0, **where) as cluster:
        port = cluster.scheduler.http_server.port
        for page in ("statics/css/base.css", "health", "metrics", "json/counts.json", "groups"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
                assert answer.status == 200, page
        call = f"http://127.0.0.1:{port}/api/v1/adaptive_target"  # which the operator asks
        with urllib.request.urlopen(call, timeout=10) as answer:
            assert "workers" in json.loads(answer.read())
