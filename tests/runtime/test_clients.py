"""A client that the user has opened: its workers train, and it is left as it was."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from dcsvm_dask import Callback, Execution, api
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.clients import check_client, default_client
from dcsvm_dask.runtime.cluster.connect import connected
from dcsvm_dask.runtime.topic import subscribed

WORDS = {"gamma": 0.001, "C": 4.0, "levels": 1, "k": 2}
QUIET = {"quiet": True, "report": False}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the data set of handwritten digits, 0 to 4 against the others."""
    X, y = load_digits(return_X_y=True)
    place = tmp_path_factory.mktemp("clients") / "digits.zarr"
    return api.ingest((X, y), place, positive=[0, 1, 2, 3, 4]).url


@pytest.fixture(scope="module")
def alone(data: str, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """Return the run that this process alone trains."""
    place = tmp_path_factory.mktemp("alone") / "run"
    return api.train(data, place, execution=Execution(workers=0), **QUIET, **WORDS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Give a cluster whose certificates lie in memory alone, as those of hired clusters do."""
    from distributed import LocalCluster, Security

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        security=Security.temporary(),
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


def same_model(one: api.Run, other: api.Run, rows: np.ndarray) -> None:
    """Check that two runs decide alike, to the last bit."""
    found, wanted = (np.asarray(run.decision_function(rows)) for run in (one, other))
    assert found.tobytes() == wanted.tobytes()


def left_on(client: Any) -> list[str]:
    """Return the plugins of this package that workers still have."""
    found = client.run(lambda dask_worker: list(dask_worker.plugins))
    return [name for names in found.values() for name in names if name.startswith("dcsvm")]


@pytest.mark.long
def test_a_client_with_certificates_in_memory_trains_searches_and_stays(
    cluster: Any, data: str, alone: api.Run, tmp_path: Path
) -> None:
    from distributed import Client

    rows = load_digits().data
    with Client(cluster, set_as_default=False) as client:
        heard: list[Any] = []
        client.subscribe_topic("all", heard.append)
        for _ in range(2):
            there = api.train_or_resume(
                data, tmp_path / "there", client=client, stop_at=1, **QUIET, **WORDS
            )
        api.resume(there.url, execution=Execution(client=client), stop_at=0, **QUIET)
        same_model(there, alone, rows)
        found = api.search(
            data, tmp_path / "search", client=client, C=[1.0, 4.0], gamma=[0.001], cv=3, **QUIET
        )
        here = api.search(
            data,
            tmp_path / "here",
            execution=Execution(workers=0),
            C=[1.0, 4.0],
            gamma=[0.001],
            cv=3,
            **QUIET,
        )
        same_model(found.best, here.best, rows)
        assert client.status == "running"
        assert client.submit(sum, [1, 2]).result() == 3
        assert left_on(client) == []
        # The client's own handler of a topic that runs follow, too, is there again.
        client.log_event("all", "still heard")
        client.submit(sum, [1, 3]).result()
        assert any(event[1] == "still heard" for event in heard)


@pytest.mark.long
def test_an_asynchronous_client_trains_in_a_thread_and_is_refused_in_its_loop(
    cluster: Any, data: str, alone: api.Run, tmp_path: Path
) -> None:
    from distributed import Client

    X, y = load_digits(return_X_y=True)

    async def call() -> api.Run:
        async with Client(
            cluster.scheduler_address, security=cluster.security, asynchronous=True
        ) as client:
            with pytest.raises(InputError, match=r"await asyncio\.to_thread"):
                api.train(data, tmp_path / "refused", client=client, **QUIET, **WORDS)
            with pytest.raises(InputError, match=r"await asyncio\.to_thread"):
                DCSVC(client=client).fit(X, y)
            assert not (tmp_path / "refused").exists()
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.01)
                    ticks += 1

            ticking = asyncio.create_task(tick())
            how = {"client": client, **QUIET, **WORDS}
            run = await asyncio.to_thread(api.train, data, tmp_path / "run", **how)
            model = DCSVC(gamma=0.001, client=client)
            await asyncio.to_thread(model.fit, X, y == 3)
            ticking.cancel()
            assert ticks > 10
            assert await client.submit(sum, [1, 2]) == 3
            plugins = await client.run(lambda dask_worker: list(dask_worker.plugins))
            assert not [k for names in plugins.values() for k in names if k.startswith("dcsvm")]
            fitted.append(model)
            return run

    fitted: list[DCSVC] = []
    run = asyncio.run(call())
    same_model(run, alone, X)
    wanted = DCSVC(gamma=0.001, run=tmp_path / "one", n_jobs=1).fit(X, y == 3)
    assert fitted[0].dual_coef_.tobytes() == wanted.dual_coef_.tobytes()


@pytest.mark.long
def test_runs_side_by_side_share_a_client(cluster: Any, data: str, tmp_path: Path) -> None:
    """Each hears what its own tasks say, though a client has one handler of a topic."""
    from concurrent.futures import ThreadPoolExecutor

    from distributed import Client

    class Heard(api.Callback):
        def __init__(self) -> None:
            self.runs: set[str] = set()
            self.tasks = 0

        def on_task(self, event: Any) -> None:
            self.runs.add(event.run)
            self.tasks += 1

    with Client(cluster) as client, ThreadPoolExecutor(2) as threads:
        heard = [Heard(), Heard()]
        waiting = [
            threads.submit(
                api.train,
                data,
                tmp_path / str(k),
                client=client,
                callbacks=[one],
                **QUIET,
                **{**WORDS, "C": 1.0 + k},
            )
            for k, one in enumerate(heard)
        ]
        runs = [one.result() for one in waiting]
    for run, one in zip(runs, heard, strict=True):
        assert one.runs == {run.url}
        assert one.tasks > 5


@pytest.mark.long
def test_a_client_that_is_closed_in_the_middle_leaves_a_run_that_goes_on(
    cluster: Any, data: str, alone: api.Run, tmp_path: Path
) -> None:
    from distributed import Client

    class Closes(api.Callback):
        def on_task(self, event: Any) -> None:
            client.close()

    client, place = Client(cluster), tmp_path / "run"
    with pytest.raises(RunError, match="the client was closed; what was committed stays: resume"):
        api.train(data, place, client=client, callbacks=[Closes()], **QUIET, **WORDS)
    with Client(cluster) as other:
        run = api.resume(place, client=other, **QUIET)
    assert run.to_sklearn().dual_coef_.tobytes() == alone.to_sklearn().dual_coef_.tobytes()


def test_handlers_of_a_topic_come_and_go() -> None:
    class Client:
        def __init__(self) -> None:
            self._event_handlers: dict[str, Any] = {}

        def subscribe_topic(self, topic: str, handler: Any) -> None:
            self._event_handlers[topic] = handler

        def unsubscribe_topic(self, topic: str) -> None:
            assert topic in self._event_handlers

        def say(self, word: str) -> None:
            self._event_handlers["t"]((0.0, word))

    client, one, two, own = Client(), list[Any](), list[Any](), list[Any]()
    with subscribed(client, "t", one.append):
        with subscribed(client, "t", two.append):
            client.say("both")
        client.say("first")
    assert one == ["both", "first"]
    assert two == ["both"]
    client.say("late")  # on its way when the last one had left
    assert one == ["both", "first"]
    with subscribed(client, "t", two.append):
        client.say("again")
    assert two == ["both", "again"]
    client.subscribe_topic("t", own.append)
    with subscribed(client, "t", one.append):
        client.say("beside")
    client.say("after")
    assert own == [(0.0, "beside"), (0.0, "after")]
    assert one[2:] == ["beside"]


class Of:
    """What is asked of a client before it is used."""

    scheduler = None

    def __init__(self, status: str = "running", asynchronous: bool = False) -> None:
        self.status, self.asynchronous = status, asynchronous
        self.loop = self
        self.asyncio_loop = asyncio.new_event_loop()
        self.asyncio_loop.close()


@pytest.mark.parametrize(
    ("client", "says"),
    [
        ("tcp://here", "must be a distributed.Client, got"),
        (Of("closed"), "must be connected, but is closed"),
        (Of(asynchronous=True), "an event loop that has ended"),
    ],
)
def test_a_client_that_cannot_be_used_is_one_sentence(client: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        check_client(client)


@pytest.mark.parametrize("other", ["workers", "scheduler", "memory_limit"])
def test_a_client_stands_alone(other: str) -> None:
    with pytest.raises(InputError, match=f"either a client or {other}"):
        Execution(client=Of(), **{other: 1})


@pytest.mark.long
def test_workers_that_lack_the_package_are_named(
    cluster: Any, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    from dcsvm_dask.runtime.cluster import connect as clusters

    monkeypatch.setattr(clusters, "__version__", "0.0")  # the workers have another one then
    with Client(cluster) as client:
        with pytest.raises(InputError, match=r"install dcsvm_dask 0\.0"):
            api.train(data, tmp_path / "run", client=client, **QUIET, **WORDS)
        assert client.status == "running"
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_client_is_attached_to_as_an_address_is(cluster: Any) -> None:
    from distributed import Client

    from dcsvm_dask.runtime.cluster.connect import remote_cluster

    with Client(cluster) as client:
        with connected(client, 1.0, print) as (same, workers):
            assert same is client
            assert len(workers) == 2
        with remote_cluster(client, Announcer("run", []), 1.0) as executor:
            assert executor.side_by_side() == 2
        assert left_on(client) == []


@pytest.mark.long
def test_the_client_of_a_run_is_not_what_dask_takes(data: str, tmp_path: Path) -> None:
    """What else this process asks of Dask meanwhile is not computed by the run's workers."""
    found: list[tuple[Any, Any]] = []

    class Looks(Callback):
        def on_client(self, client: Any) -> None:
            found.append((default_client(), dask.config.get("scheduler", None)))

    execution = Execution(workers=1)
    api.train(data, tmp_path / "run", execution=execution, callbacks=[Looks()], **QUIET, **WORDS)
    assert found == [(None, None)]


def test_rows_in_dask_are_predicted_at_once_or_by_chunks(alone: api.Run) -> None:
    pd = pytest.importorskip("pandas")
    import dask.array as da
    import dask.dataframe as dd

    X, _ = load_digits(return_X_y=True)
    chunks, expected = da.from_array(X, chunks=(500, 64)), alone.predict(X)
    of_chunks = chunks.map_blocks(sparse.csr_matrix)
    assert isinstance(of_chunks._meta, sparse.csr_matrix)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    for rows in (chunks, of_chunks, frame):
        np.testing.assert_array_equal(alone.predict(rows), expected)
    lazy = chunks.map_blocks(alone.predict, dtype=int, drop_axis=1)
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), expected)
    lazy = frame.map_partitions(alone.predict, meta=np.zeros(0, int))
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), expected)
    masked = np.ma.masked_array(X, np.tile(np.arange(64) == 7, (len(X), 1)))
    for rows in (masked, da.from_array(masked, chunks=(500, 64))):
        with pytest.raises(InputError, match=r"X: row 0, column 7 .* is masked"):
            alone.predict(rows)
        with pytest.raises(InputError, match=r"X: row 0, column 7 .* is masked"):
            DCSVC().fit(rows, expected)


def test_a_cluster_in_the_place_of_its_client_is_named(cluster: Any) -> None:
    with pytest.raises(InputError, match=r"got a cluster; give distributed.Client\(cluster\)"):
        check_client(cluster)
