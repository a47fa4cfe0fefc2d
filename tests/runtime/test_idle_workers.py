"""Idle workers take part in the products of a large block; the model is the same without them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster, get_worker

from dcsvm_dask import api
from dcsvm_dask.methods import helping
from dcsvm_dask.runtime import idle_workers
from dcsvm_dask.solvers import shared_rows
from dcsvm_dask.solvers.parallel import solve
from dcsvm_dask.storage.run import RunFolder
from tests.methods.decomposition.runs import HERE, assert_same_model

ROWS = 1500
WORDS: dict[str, Any] = {
    "gamma": 2.0,
    "C": 8.0,
    "clusters": (2,),
    "levels": 1,
    "block_cap": 200,
    "quiet": True,
    "report": False,
}


@pytest.fixture(scope="module", autouse=True)
def _small_shares() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helping, "SHARED_FROM", 300)
        patch.setattr(solve, "SHARE_ROWS", 75)
        patch.setattr(shared_rows, "PART_VALUES", 1)
        patch.setattr(idle_workers, "LEAST_PATIENCE", 30.0)  # other tests run beside
        yield


@pytest.fixture(scope="module")
def data(
    magic_rows: Callable[[int], tuple[Any, Any]], tmp_path_factory: pytest.TempPathFactory
) -> str:
    return api.ingest(magic_rows(ROWS), tmp_path_factory.mktemp("data") / "d.zarr").url


@pytest.fixture(scope="module")
def alone(data: str, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    return api.train(data, tmp_path_factory.mktemp("run") / "run", execution=HERE, **WORDS)


@pytest.fixture
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def blocks_of(run: RunFolder) -> list[dict[str, Any]]:
    """Return what the records of the level say of products in shares."""
    nodes = run.read_all()["level-1"].values()
    return [node.record["shared"] for node in nodes if "shared" in node.record]


def test_idle_workers_help_and_the_model_is_the_same(
    data: str, alone: api.Run, client: Client, tmp_path: Any
) -> None:
    run = api.train(data, tmp_path / "run", client=client, **WORDS)
    assert_same_model(run, alone)
    helped, without = blocks_of(run.folder), blocks_of(alone.folder)
    assert [one["products"] for one in helped] == [one["products"] for one in without]
    assert all(one["elsewhere"] == 0.0 for one in without)
    assert max(one["elsewhere"] / one["seconds"] for one in helped) > 0.05


SUMS_OF = idle_workers.sums_of
WHERE: list[str] = []
"""Addresses of workers that were asked for help; the workers are threads of this process."""


@pytest.fixture(autouse=True)
def _nobody_was_asked() -> None:
    WHERE.clear()


def noted(*about: Any) -> Any:
    WHERE.append(get_worker().address)
    return SUMS_OF(*about)


def slow(*about: Any) -> Any:
    time.sleep(3.0)
    return noted(*about)


def dies(*about: Any) -> Any:
    if not WHERE:
        worker = get_worker()
        worker.loop.add_callback(worker.close, reason="lost")
        time.sleep(0.5)
    return noted(*about)


@pytest.mark.long
def test_help_that_is_late_is_not_waited_for(
    data: str, alone: api.Run, client: Client, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_workers, "LEAST_PATIENCE", 0.1)
    monkeypatch.setattr(idle_workers, "sums_of", slow)
    run = api.train(data, tmp_path / "run", client=client, **WORDS)
    assert WHERE
    assert_same_model(run, alone)
    assert all(one["elsewhere"] == 0.0 for one in blocks_of(run.folder))


@pytest.mark.long
def test_a_worker_that_is_lost_while_it_helps_changes_nothing(
    data: str, alone: api.Run, client: Client, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_workers, "LEAST_PATIENCE", 2.0)
    monkeypatch.setattr(idle_workers, "sums_of", dies)
    run = api.train(data, tmp_path / "run", client=client, **WORDS)
    assert WHERE[0] not in client.scheduler_info()["workers"]
    assert_same_model(run, alone)


@pytest.mark.long
def test_only_workers_of_the_run_help(
    data: str, alone: api.Run, client: Client, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = sorted(client.scheduler_info()["workers"])[:2]
    monkeypatch.setattr(idle_workers, "sums_of", noted)
    with dask.annotate(workers=mine):
        run = api.train(data, tmp_path / "run", client=client, **WORDS)
    assert WHERE
    assert set(WHERE) <= set(mine)
    assert_same_model(run, alone)


def test_shares_are_dealt_in_order_and_evenly() -> None:
    for counts, groups in (([5] * 8, 3), ([100, 1, 1, 1], 3), ([1, 1, 100], 2), ([7], 1)):
        parts = [shared_rows.Part(share, np.arange(count)) for share, count in enumerate(counts)]
        dealt = idle_workers._dealt(parts, groups)
        assert [part for group in dealt for part in group] == parts
        assert len(dealt) == groups
        assert all(dealt)
    sizes = [
        len(group) for group in idle_workers._dealt([shared_rows.Part(0, np.arange(5))] * 8, 3)
    ]
    assert max(sizes) <= 3
