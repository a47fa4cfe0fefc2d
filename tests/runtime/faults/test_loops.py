"""Loops that lose workers, scheduler or client, fail or are stopped: the same model in the end."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from dcsvm_dask import api
from dcsvm_dask.errors import RunError
from dcsvm_dask.runtime import loop_on_cluster, loop_tasks
from dcsvm_dask.runtime.callbacks import Callback, StopRun
from dcsvm_dask.runtime.events import SetSolved
from dcsvm_dask.solvers.parallel import solve
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.methods.decomposition.runs import HERE, assert_same_model, sets_of
from tests.runtime.faults.losses import Losses

pytestmark = pytest.mark.long

ROWS, SETS = 1500, 30
"""Rows, and sets that solving them takes at least."""
MEMORY_LIMIT = "1GiB"
WORDS: dict[str, Any] = {
    "method": "decomposition",
    "gamma": 0.5,
    "C": 8.0,
    "size": 40,
    "tol": 1e-4,
    "quiet": True,
    "report": False,
}


@pytest.fixture(scope="module", autouse=True)
def _several_shares() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "SHARE_ROWS", ROWS // 4)
        yield


@pytest.fixture(scope="module")
def data(
    magic_rows: Callable[[int], tuple[Any, Any]], tmp_path_factory: pytest.TempPathFactory
) -> str:
    return api.ingest(magic_rows(ROWS), tmp_path_factory.mktemp("data") / "d.zarr").url


@pytest.fixture(scope="module")
def alone(data: str, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """Give the run that this process alone trains."""
    run = api.train(data, tmp_path_factory.mktemp("alone") / "run", execution=HERE, **WORDS)
    assert sets_of(run)[0]["sets"] > SETS
    return run


@pytest.fixture
def client() -> Iterator[Client]:
    """Give a client of two workers of its own, which may be killed."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=MEMORY_LIMIT,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def processes(client: Client) -> list[int]:
    """Return the worker processes; one that is just starting or ending is left out."""
    while True:
        answers = client.run(os.getpid, on_error="return").values()
        if found := [answer for answer in answers if isinstance(answer, int)]:
            return found
        time.sleep(0.1)


def tasks_known(client: Client) -> list[str]:
    """Return the tasks of this package that the scheduler knows."""

    def names(dask_scheduler: Any) -> list[str]:
        return [str(key) for key in dask_scheduler.tasks if "dcsvm_" in str(key)]

    return list(client.run_on_scheduler(names))


def tasks_left(client: Client) -> list[str]:
    """Return the tasks of this package that the scheduler still knows after a while."""
    end = time.monotonic() + 20.0
    while (found := tasks_known(client)) and time.monotonic() < end:
        time.sleep(0.1)
    return found


class After(Callback):
    """Does something once so many working sets are solved."""

    def __init__(self, steps: int, what: Callable[[], object]) -> None:
        self.steps, self.what, self.was_called = steps, what, False

    def on_set(self, event: SetSolved) -> None:
        if not self.was_called and event.number >= self.steps:
            self.was_called = True
            self.what()


@pytest.mark.parametrize(
    ("steps", "killed"),
    [
        (1, 1),
        (SETS // 2, 2),
        pytest.param(1, 2, marks=pytest.mark.soak),
        pytest.param(SETS // 2, 1, marks=pytest.mark.soak),
    ],
)
def test_workers_that_are_killed_between_steps(
    killed: int, steps: int, client: Client, data: str, alone: api.Run, tmp_path: Path
) -> None:
    mine = client.submit(sum, [1, 2], key="mine")
    client.wait_for_workers(2)  # a test before may have killed some
    some = processes(client)[:killed]

    def kill_them() -> None:
        for process in some:
            os.kill(process, signal.SIGKILL)

    kill = After(steps, kill_them)
    run = api.train(data, tmp_path / "run", client=client, callbacks=[kill], **WORDS)
    assert kill.was_called
    assert run.status()["converged"]
    assert_same_model(run, alone)
    assert tasks_left(client) == []
    assert mine.result() == 3


def test_workers_that_are_killed_one_after_the_other(
    client: Client, data: str, alone: api.Run, tmp_path: Path
) -> None:
    def kill() -> None:
        os.kill(processes(client)[0], signal.SIGKILL)

    kills = [After(steps, kill) for steps in (2, SETS // 3, 2 * SETS // 3)]
    run = api.train(data, tmp_path / "run", client=client, callbacks=kills, **WORDS)
    assert all(one.was_called for one in kills)
    assert_same_model(run, alone)


def grow() -> None:
    """Let the next step of this process take memory until the process is ended."""
    from dcsvm_dask.solvers import ParallelRule

    def advance(*_: Any, **__: Any) -> None:
        held = []
        while True:
            held.append(b"x" * (16 << 20))
            time.sleep(0.02)

    setattr(ParallelRule, "advance", advance)  # noqa: B010


def slow_down(steps: int, seconds: float) -> None:
    """Let so many steps of this process take longer."""
    from dcsvm_dask.solvers import ParallelRule

    advance, left = ParallelRule.advance, iter(range(steps))

    def later(*arguments: Any, **words: Any) -> Any:
        if next(left, None) is not None:
            time.sleep(seconds)
        return advance(*arguments, **words)

    setattr(ParallelRule, "advance", later)  # noqa: B010


def test_a_worker_that_is_ended_for_its_memory(
    client: Client, data: str, alone: api.Run, tmp_path: Path
) -> None:
    mine = client.submit(sum, [1, 2], key="mine")
    first = min(client.scheduler_info()["workers"])
    growing = After(SETS // 2, lambda: client.run(grow, workers=[first]))
    losses = Losses()
    run = api.train(data, tmp_path / "run", client=client, callbacks=[growing, losses], **WORDS)
    assert len(losses.why) == 1
    assert losses.why[0].startswith("it was ended for its memory")
    assert_same_model(run, alone)
    assert tasks_left(client) == []
    assert mine.result() == 3


def test_a_slow_worker_changes_nothing_but_the_time(
    client: Client, data: str, alone: api.Run, tmp_path: Path
) -> None:
    first = min(client.scheduler_info()["workers"])
    client.run(slow_down, SETS, 0.2, workers=[first])
    losses = Losses()
    run = api.train(data, tmp_path / "run", client=client, callbacks=[losses], **WORDS)
    assert losses.why == []
    assert_same_model(run, alone)


def test_a_worker_that_stands_still_for_a_while(
    client: Client, data: str, alone: api.Run, tmp_path: Path
) -> None:
    process = processes(client)[0]
    resume = threading.Timer(3.0, os.kill, (process, signal.SIGCONT))

    def stop() -> None:
        os.kill(process, signal.SIGSTOP)
        resume.start()

    stops = After(SETS // 2, stop)
    run = api.train(data, tmp_path / "run", client=client, callbacks=[stops], **WORDS)
    resume.join()
    assert stops.was_called
    assert_same_model(run, alone)


def test_a_scheduler_that_dies_in_a_loop(
    data: str,
    alone: api.Run,
    tmp_path: Path,
    dask_cluster: Any,
    look: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, scheduler = dask_cluster.start(1)
    kill = After(SETS // 2, scheduler.kill)
    monkeypatch.setattr(loop_tasks, "CHECKPOINT_SECONDS", 0.0)
    how = {"execution": api.Execution(scheduler=address), "callbacks": [kill], **WORDS}
    with pytest.raises(RunError, match=r"scheduler.*resume"):
        api.train(data, tmp_path / "run", **how)
    assert kill.was_called
    assert api.open_run(tmp_path / "run").status()["state"] == "failed"
    before = look.attempts(RunFolder.open(Location.of(tmp_path / "run")))
    assert before
    dask_cluster.stop(dask_cluster.processes[1])
    again = api.resume(tmp_path / "run", execution=HERE, quiet=True)
    after = look.attempts(again.folder)
    assert {name: after[name] for name in before} == before  # not done again
    assert_same_model(again, alone)


def test_a_client_that_is_killed_in_a_loop(
    command: Callable[..., Any], data: str, alone: api.Run, tmp_path: Path, dask_cluster: Any
) -> None:
    address, _ = dask_cluster.start(2)
    with Client(address, set_as_default=False) as other:
        mine = other.submit(sum, [1, 2], key="mine")
        place = tmp_path / "run"
        options = (f"--{name}={WORDS[name]}" for name in ("method", "gamma", "tol"))
        train = command(
            *("train", data, "--run", place, "--scheduler", address, "--no-report"),
            *(*options, "-C", WORDS["C"], "-P", f"size={WORDS['size']}"),
            before=f"from dcsvm_dask.solvers.parallel import solve; solve.SHARE_ROWS = {ROWS // 4}",
        )
        train.wait_for(lambda: any("_advance" in name for name in tasks_known(other)))
        train.kill_group()
        assert tasks_left(other) == []
        assert mine.result() == 3
    assert_same_model(api.resume(place, execution=HERE, quiet=True), alone)


def test_a_loop_that_is_stopped_lets_go_of_everything_and_is_resumed(
    client: Client,
    data: str,
    alone: api.Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = client.submit(sum, [1, 2], key="mine")

    def stop() -> None:
        raise StopRun("enough")

    monkeypatch.setattr(loop_tasks, "CHECKPOINT_SECONDS", 0.0)
    how = {"client": client, "callbacks": [After(SETS // 2, stop)], **WORDS}
    run = api.train(data, tmp_path / "run", **how)
    assert run.status()["state"] == "interrupted"
    assert not run.status()["converged"]
    assert len(sets_of(run)) > 2
    assert tasks_left(client) == []
    assert mine.result() == 3
    monkeypatch.undo()
    monkeypatch.setattr(solve, "SHARE_ROWS", ROWS // 4)
    again = api.resume(run.url, client=client, quiet=True)
    assert_same_model(again, alone)
    assert tasks_left(client) == []


@pytest.mark.parametrize("where", ["here", "cluster"])
def test_ctrl_c_in_a_loop_leaves_a_run_that_is_resumed(
    where: str, data: str, alone: api.Run, tmp_path: Path
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    workers = {"here": 0, "cluster": 2}[where]
    how = {"execution": api.Execution(workers=workers), **WORDS}
    with pytest.raises(KeyboardInterrupt, match="dcsvm resume"):
        api.train(data, tmp_path / "run", callbacks=[After(SETS // 2, interrupt)], **how)
    assert api.open_run(tmp_path / "run").status()["state"] == "interrupted"
    assert_same_model(api.resume(tmp_path / "run", execution=HERE, quiet=True), alone)


def spoil(name: str) -> None:
    """Let a part of every step fail in this process."""
    from dcsvm_dask.solvers import ParallelRule

    def fail(*_: Any, **__: Any) -> None:
        raise ArithmeticError("a step that fails")

    setattr(ParallelRule, name, fail)


@pytest.mark.failing_tasks
@pytest.mark.parametrize("name", ["solve", "advance", "choose", "fetch", "look", "along", "pick"])
def test_a_step_that_fails_says_what_to_do(
    name: str,
    client: Client,
    data: str,
    alone: api.Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if name == "fetch":  # instead of members that come along
        monkeypatch.setattr(loop_on_cluster, "MOST_ALONG", 0.0)
    client.run(spoil, name)
    with pytest.raises(RunError, match=r"a step that fails.*dcsvm resume"):
        api.train(data, tmp_path / "run", client=client, **WORDS)
    assert api.open_run(tmp_path / "run").status()["state"] == "failed"
    assert tasks_left(client) == []
    assert_same_model(api.resume(tmp_path / "run", execution=HERE, quiet=True), alone)


def test_a_step_that_fails_in_this_process_says_what_to_do(
    data: str, alone: api.Run, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        from dcsvm_dask.solvers import ParallelRule

        patch.setattr(ParallelRule, "solve", lambda *_, **__: 1 / 0)
        with pytest.raises(RunError, match=r"ZeroDivisionError.*dcsvm resume"):
            api.train(data, tmp_path / "run", execution=HERE, **WORDS)
    assert_same_model(api.resume(tmp_path / "run", execution=HERE, quiet=True), alone)
