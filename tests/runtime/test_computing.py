"""Partitions on the workers of a cluster: written there, whatever happens to a worker."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

from dcsvm_dask import Execution, api
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.runtime import computing
from tests.runtime.test_collections import check_same, in_chunks, labels_of, rows_of

pytestmark = pytest.mark.long

N, SIZES = 3000, [700, 0, 5, 1295, 1000]
X, Y = rows_of(N, 6, 1), labels_of(N, "words", 1)
HOW: dict[str, Any] = {"quiet": True, "report": False, "gamma": 0.1, "C": 4.0}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        yield client


def seen_by(folder: Path) -> Any:
    """Return a function of blocks that notes who has them."""
    folder.mkdir()

    def seen(block: Any) -> Any:
        from distributed import get_worker

        (folder / f"{os.getpid()}-{get_worker().address.rpartition(':')[2]}").touch()
        return block

    return seen


def test_rows_stay_on_the_workers(client: Any, tmp_path: Path) -> None:
    rows = in_chunks(X, SIZES).map_blocks(seen_by(tmp_path / "seen"), meta=np.zeros((0, 0)))
    labels = in_chunks(Y, SIZES)
    for scale in ("none", "standard"):
        words = {"scale": scale, "chunk_rows": 256}
        api.ingest((X, Y), tmp_path / "one.zarr", overwrite=True, **words)
        with client.as_current():
            check_same((X, Y), (rows, labels), tmp_path, **words)
    pids = {int(path.name.partition("-")[0]) for path in (tmp_path / "seen").iterdir()}
    assert pids == set(client.run(os.getpid).values())  # never this process
    end = time.monotonic() + 120.0
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        assert time.monotonic() < end, "tasks are left"
        time.sleep(0.05)


def test_a_client_that_is_named_trains_from_them(client: Any, tmp_path: Path) -> None:
    rows, labels = client.persist([in_chunks(X, SIZES), in_chunks(Y, SIZES)])
    run = api.train(rows, labels, tmp_path / "run", client=client, **HOW)
    wanted = api.train(X, Y, tmp_path / "here", execution=Execution(workers=0), **HOW)
    assert run.decision_function(X).tobytes() == wanted.decision_function(X).tobytes()
    begun = [line for line in (tmp_path / "run").rglob("*") if "journal" in str(line)]
    assert any(client.scheduler.address in line.read_text() for line in begun if line.is_file())
    model = DCSVC.from_run(run.url)
    assert (model.predict(X) == run.predict(X)).all()


def test_the_client_that_dask_takes_trains_from_them(cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    with Client(cluster) as client:
        heard: list[Any] = []
        client.subscribe_topic("dcsvm", heard.append)
        api.train(in_chunks(X, SIZES), in_chunks(Y, SIZES), tmp_path / "run", **HOW)
        text = "".join(
            path.read_text() for path in (tmp_path / "run" / "journal").iterdir() if path.is_file()
        )
        assert client.scheduler.address in text


def test_annotations_are_kept(client: Any, tmp_path: Path) -> None:
    one, other = client.scheduler_info()["workers"]

    def ports(name: str) -> set[str]:
        return {path.name.partition("-")[2] for path in (tmp_path / name).iterdir()}

    with dask.annotate(workers=[other]):
        rows = in_chunks(X, SIZES).map_blocks(seen_by(tmp_path / "rows"), meta=np.zeros((0, 0)))
    labels = in_chunks(Y, SIZES)
    api.ingest((rows, labels), tmp_path / "data.zarr", client=client)
    assert ports("rows") == {other.rpartition(":")[2]}
    rows = in_chunks(X, SIZES).map_blocks(seen_by(tmp_path / "all"), meta=np.zeros((0, 0)))
    with dask.annotate(workers=[one]):
        api.ingest((rows, labels), tmp_path / "again.zarr", client=client)
    assert ports("all") == {one.rpartition(":")[2]}


def test_tasks_have_names_of_their_own(client: Any, tmp_path: Path) -> None:
    names: set[str] = set()

    def note(dask_worker: Any) -> list[str]:
        return [str(key) for key in dask_worker.state.log for key in [key[0]]]

    api.ingest((in_chunks(X, SIZES), in_chunks(Y, SIZES)), tmp_path / "data.zarr", client=client)
    for log in client.run(note).values():
        names.update(name for name in log if "dcsvm_" in name)
    for one in ("survey", "store", "cut", "write"):
        assert any(f"dcsvm_{one}-" in name for name in names), one


def test_workers_that_do_not_see_the_place_are_named(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computing, "_claims", lambda place: [])
    rows = in_chunks(X, SIZES).map_blocks(seen_by(tmp_path / "seen"), meta=np.zeros((0, 0)))
    with pytest.raises(InputError, match=r"worker tcp://.*: does not see .*data\.zarr; put the"):
        api.ingest((rows, in_chunks(Y, SIZES)), tmp_path / "data.zarr", client=client)
    assert not list((tmp_path / "seen").iterdir())  # refused before anything is computed
    with pytest.raises(InputError, match="only this process sees memory://"):
        api.ingest((rows, in_chunks(Y, SIZES)), "memory://data.zarr", client=client)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seen"]


@pytest.mark.failing_tasks
def test_what_goes_wrong_in_a_partition_says_which(client: Any, tmp_path: Path) -> None:
    def fails(block: Any) -> Any:
        if len(block) == 5:
            raise KeyError("no such file")
        return block

    labels = in_chunks(Y, SIZES)
    rows = in_chunks(X, SIZES).map_blocks(fails, meta=np.zeros((0, 0)))
    with pytest.raises(RunError, match=r"partition 2 .*: a task failed: KeyError: 'no such file'"):
        api.ingest((rows, labels), tmp_path / "data.zarr", client=client)
    spoiled = np.where(np.arange(N)[:, None] == 702, np.nan, X)
    with pytest.raises(InputError, match=r"partition 2 .*: row 2, column 0 .* is NaN"):
        api.ingest((in_chunks(spoiled, SIZES), labels), tmp_path / "data.zarr", client=client)
    assert not list(tmp_path.iterdir())


def test_a_worker_that_dies_is_made_up_for(client: Any, tmp_path: Path) -> None:
    died = tmp_path / "died"

    def dies(block: Any) -> Any:
        if len(block) == 1295 and not died.exists():
            died.touch()
            os._exit(1)
        return block

    rows = in_chunks(X, SIZES).map_blocks(dies, meta=np.zeros((0, 0)))
    with client.as_current():
        check_same((X, Y), (rows, in_chunks(Y, SIZES)), tmp_path, chunk_rows=256)
    assert died.exists()


def test_an_asynchronous_client_is_refused_in_its_loop(cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    rows, labels = in_chunks(X, SIZES), in_chunks(Y, SIZES)

    async def call() -> None:
        async with Client(cluster.scheduler_address, asynchronous=True):
            for refused in (
                lambda: api.ingest((rows, labels), tmp_path / "refused.zarr"),
                lambda: api.train(rows, labels, tmp_path / "refused", **HOW),
                lambda: DCSVC().fit(rows, labels),
            ):
                with pytest.raises(InputError, match=r"await asyncio\.to_thread"):
                    refused()
            assert not list(tmp_path.iterdir())
            run = tmp_path / "run"
            await asyncio.to_thread(api.train, rows, labels, run, **HOW)
            model = await asyncio.to_thread(DCSVC().fit, rows, labels)
            assert model.classes_.tolist() == ["left", "middle", "right"]

    asyncio.run(call())
    assert api.open_run(tmp_path / "run").status()["state"] == "complete"


def test_rows_that_are_refused_are_read_once_and_leave_nothing(
    client: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A refusal is the result of a task: of an error Dask tries again and keeps the task."""
    tries = tmp_path / "tries"
    tries.mkdir()

    def noted(block: Any) -> Any:
        if np.isnan(block).any():
            (tries / f"{time.time_ns()}").touch()
        return block

    rows = X.copy()
    rows[2000, 2] = np.nan
    # The blocks of `rows` are not kept by Dask between the tasks that read them.
    parts = in_chunks(rows, SIZES).map_blocks(noted, meta=rows[:0]), in_chunks(Y, SIZES)
    for k in range(2):
        with pytest.raises(InputError, match=r"partition 4 .*: row 0, column 2 .* is NaN"):
            api.ingest(parts, tmp_path / f"{k}.zarr", client=client)
    assert len(list(tries.iterdir())) == 2
    for _ in range(100):  # the client lets go of futures in its own thread
        kept = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if not (kept or client.futures):
            break
        time.sleep(0.05)
    else:
        pytest.fail("tasks stay on the scheduler, or futures with the client")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.failing_tasks
def test_what_may_pass_is_tried_again(client: Any, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    tries.mkdir()

    def unreachable_once(block: Any) -> Any:
        from dcsvm_dask.errors import UnreachableError

        if len(block) == SIZES[0] and not list(tries.iterdir()):
            (tries / "first").touch()
            raise UnreachableError("s3://bucket: cannot be reached")
        return block

    task = computing.tasks_of("one", unreachable_once, [(X[: SIZES[0]],)])
    found = computing.OnWorkers(client).results(task, list(task), [], lambda _: "part")
    assert [len(one) for one in found] == [SIZES[0]]
    assert list(tries.iterdir())
