"""Numerics are compiled once a node, by a process beside the workers, which go on answering."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client

from dcsvm_dask.errors import RunError
from dcsvm_dask.runtime import compilation, compile_once
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.begun_by import BegunBy
from dcsvm_dask.runtime.cluster.connect import prepared
from dcsvm_dask.runtime.compilation import DENSE, is_compiled, warm_up
from dcsvm_dask.runtime.topic import TOPIC, subscribed
from dcsvm_dask.runtime.worker import PrepareWorker
from dcsvm_dask.versions import versions
from tests.callbacks import Heard

SECONDS = 600.0
SILENT_SECONDS = 15.0
SETTLING_SECONDS = 20.0
KEPT_BYTES = 120 << 20
"""What a worker that loads compiled code keeps for itself; one that compiles keeps 300 MiB."""
"""Half of what compiling takes on an idle machine."""
LOADED = 10
"""Functions that a worker which has loaded what is compiled has loaded at least."""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a cache folder in which a file "done" says that all is compiled."""
    monkeypatch.setattr(compile_once, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compile_once, "is_compiled", lambda _: (tmp_path / "done").exists())
    monkeypatch.setattr(compile_once, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(compile_once, "warm_up", lambda _: None)
    return tmp_path


def child(folder: Path, *lines: str) -> str:
    """Return what a child does that logs when it begins, and ends with some lines."""
    log = f"open({str(folder / 'log')!r}, 'a').write('one\\n')"
    return "\n".join(["import os, pathlib, signal, time", log, *lines])


class Beats:
    """Counts heartbeats."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self) -> None:
        self.count += 1


def test_of_the_workers_of_a_node_one_has_it_compiled_and_all_go_on(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (
        f"while not os.path.exists({str(node / 'heard')!r}): time.sleep(0.01)",
        f"pathlib.Path({str(node / 'done')!r}).touch()",
    )
    monkeypatch.setattr(compile_once, "COMMAND", child(node, *lines))
    reported: list[str] = []
    beats = [Beats() for _ in range(3)]

    async def hear() -> None:
        # Each of them hears of the others' heartbeats while it waits.
        while min(beat.count for beat in beats) < 3:
            await asyncio.sleep(0.01)
        (node / "heard").touch()

    async def workers() -> None:
        compiled = (compile_once.compile_once(DENSE, reported.append, beat) for beat in beats)
        await asyncio.wait_for(asyncio.gather(*compiled, hear()), SECONDS)

    asyncio.run(workers())
    assert (node / "log").read_text() == "one\n"
    assert len(reported) == 1
    assert reported[0].startswith("compiling for the workers of ")
    (node / "log").unlink()
    asyncio.run(workers())
    assert not (node / "log").exists()


def test_a_lock_of_who_has_ended_holds_nobody_up(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"import fcntl, time; f = open({str(node / compile_once.LOCK)!r}, 'w'); "
    script += "fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); time.sleep(600)"
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    done = f"pathlib.Path({str(node / 'done')!r}).touch()"
    monkeypatch.setattr(compile_once, "COMMAND", child(node, done))
    beats = Beats()

    async def worker() -> None:
        one = asyncio.create_task(compile_once.compile_once(DENSE, print, beats))
        await asyncio.sleep(0.5)
        assert not (node / "log").exists()  # it waits
        holder.kill()
        await asyncio.wait_for(one, SECONDS)

    asyncio.run(worker())
    holder.wait()
    holder.stdout.close()
    assert (node / "done").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "ended by SIGKILL, as the system does where memory runs out; it takes about 450 MiB",
        ),
        ("raise ImportError('no numba')", r"ended with status 1 \(ImportError: no numba\); it"),
    ],
)
def test_a_child_that_ends_without_having_compiled_is_reported(
    node: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    monkeypatch.setattr(compile_once, "COMMAND", child(node, line))
    with pytest.raises(RunError, match=said):
        asyncio.run(compile_once.compile_once(DENSE, print, Beats()))
    # Nobody waits for it: the next one tries.
    with pytest.raises(RunError, match=said):
        asyncio.run(compile_once.compile_once(DENSE, print, Beats()))
    assert (node / "log").read_text() == "one\none\n"


def test_a_worker_that_leaves_ends_its_child(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = node / "pid"
    lines = (f"pathlib.Path({str(pid)!r}).write_text(str(os.getpid()))", "time.sleep(600)")
    monkeypatch.setattr(compile_once, "COMMAND", child(node, *lines))

    async def worker() -> None:
        one = asyncio.create_task(compile_once.compile_once(DENSE, print, Beats()))
        while not (pid.exists() and pid.read_text()):
            await asyncio.sleep(0.05)
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one

    asyncio.run(worker())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize("why", ["absent", "no locks"])
def test_without_a_lock_each_worker_compiles_and_says_so_once(
    node: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    if why == "absent":
        monkeypatch.setattr(compile_once, "cache_folder", lambda: node / "absent")
    else:

        def refused(*_: object) -> None:
            raise OSError(37, "No locks available")

        monkeypatch.setattr(fcntl, "flock", refused)
    loaded: list[bool] = []
    monkeypatch.setattr(compile_once, "warm_up", lambda _: loaded.append(True))
    monkeypatch.setattr(compile_once, "is_compiled", lambda _: bool(loaded))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):  # one run, and another
            asyncio.run(compile_once.compile_once(DENSE, print, Beats()))
    assert len(loaded) == 2
    (record,) = caplog.records
    assert record.getMessage().startswith("this worker compiles by itself, during which it is")


def test_what_is_compiled_is_marked_for_what_numba_keeps_it_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compilation, "_loaded", set())
    monkeypatch.setattr(compilation, "PARTS", {"one": [], "other": []})
    compilation._conditions.cache_clear()
    assert not is_compiled(["one"])
    warm_up(["one"])
    assert is_compiled(["one"])
    assert not is_compiled(["one", "other"])
    monkeypatch.setattr(compilation, "_loaded", set())
    assert is_compiled(["one"])  # by the file alone
    monkeypatch.setattr("numba.__version__", "0.0")
    compilation._conditions.cache_clear()
    assert not is_compiled(["one"])
    compilation._conditions.cache_clear()
    compilation._warm_up.cache_clear()


def test_what_a_worker_says_reaches_callbacks() -> None:
    heard = Heard()
    announcer = Announcer("run", [heard])
    announcer.send({"kind": "notice", "worker": "tcp://a", "text": "compiling", "doing": False})
    announcer.drain()
    assert heard.said == ["compiling"]


PRELOAD = """
def dask_setup(worker):
    import asyncio, os, sys, threading, time
    from pathlib import Path
    from numba.core.dispatcher import Dispatcher

    place = Path(os.environ["COUNTED"]) / str(os.getpid())
    slowest = [0.0]

    async def tick():
        while True:
            begin = time.monotonic()
            await asyncio.sleep(0.05)
            slowest[0] = max(slowest[0], time.monotonic() - begin)

    def look():
        while True:
            loaded = sys.modules.copy().items()
            modules = [module for name, module in loaded if name.startswith("dcsvm_dask")]
            found = {id(f): f for m in modules for f in list(vars(m).values())}.values()
            stats = [f.stats for f in found if isinstance(f, Dispatcher)]
            counts = [sum(sum(getattr(s, name).values()) for s in stats) for name in NAMES]
            place.with_suffix(".new").write_text(" ".join(map(str, [*counts, slowest[0]])))
            place.with_suffix(".new").rename(place)
            time.sleep(0.1)

    worker.ticking = asyncio.ensure_future(tick())
    threading.Thread(target=look, daemon=True).start()


NAMES = ("cache_hits", "cache_misses")
"""


def counted(folder: Path) -> dict[str, list[float]]:
    """Return what each worker has loaded and compiled, and how long its event loop stood still."""
    files = [place for place in folder.iterdir() if not place.suffix]
    columns = zip(*[map(float, place.read_text().split()) for place in files], strict=True)
    found = dict(zip(("loaded", "compiled", "slowest"), map(list, columns), strict=False))
    return found or {"loaded": [], "compiled": [], "slowest": []}


def ready(folder: Path) -> list[float]:
    """Return how many functions each worker has, wherever they come from."""
    found = counted(folder)
    return [a + b for a, b in zip(found["loaded"], found["compiled"], strict=True)]


def private_bytes() -> int:
    """Return the memory that this process shares with no other.

    Of the files that it maps, the kernel counts as many pages as its cache happens to hold in one
    piece: of a library that was just installed all of them, which is 70 MiB more for LLVM alone.
    """
    memory = psutil.Process().memory_info()
    return int(memory.rss - memory.shared)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the workers that are started begin with an empty cache, and count; give the counts."""
    (tmp_path / "counts").mkdir()
    script = tmp_path / "counting.py"
    script.write_text(PRELOAD)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COUNTED", str(tmp_path / "counts"))
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__PRELOAD", repr([str(script)]))
    return tmp_path / "counts"


@pytest.mark.soak
@pytest.mark.long
def test_workers_that_join_answer_while_their_node_compiles_and_stay_small(
    dask_cluster: Any, empty_cache: Path
) -> None:
    words = ("--preload-nanny", "dcsvm_dask.runtime.preload", "--memory-limit", "1GB")
    address, _ = dask_cluster.start(0, worker=words)
    said: list[Any] = []
    silent = 0.0
    end = time.monotonic() + SECONDS
    with Client(address) as client, subscribed(client, TOPIC, said.append):
        client.register_plugin(PrepareWorker(shield=False, run=BegunBy("run", versions())))
        for _ in range(2):
            dask_cluster.add_worker()
        client.wait_for_workers(2, SECONDS)
        # What is asked of a worker that joins is answered when it has joined.
        while min(ready(empty_cache)) < LOADED:
            seen = client.run_on_scheduler(
                lambda dask_scheduler: [w.last_seen for w in dask_scheduler.workers.values()]
            )
            assert len(seen) == 2
            silent = max(silent, time.time() - min(seen))
            assert time.monotonic() < end
            time.sleep(0.2)
        while not all(client.run(lambda: compilation._loaded.issuperset(DENSE)).values()):
            time.sleep(0.2)
        # What a process keeps is there once loading has let go of what it needed by the way.
        settled = time.monotonic() + SETTLING_SECONDS
        while (private := max(client.run(private_bytes).values())) > 1.2 * KEPT_BYTES:
            assert time.monotonic() < settled
            time.sleep(0.5)
        time.sleep(0.5)
    texts = [message["text"] for message in said if message["kind"] == "notice"]
    assert len(texts) == 1
    assert texts[0].startswith("compiling for the workers of ")
    found = counted(empty_cache)
    assert found["compiled"] == [0, 0]
    assert max(found["slowest"]) < SILENT_SECONDS
    assert silent < SILENT_SECONDS
    assert private == pytest.approx(KEPT_BYTES, rel=0.2)


@pytest.mark.long
@pytest.mark.soak
def test_workers_of_a_local_cluster_load_what_the_client_has_compiled(
    command: Callable[..., Any], empty_cache: Path, small: Path, tmp_path: Path
) -> None:
    ran = command("train", small, "--run", tmp_path / "run", "--workers", "2", "--no-report")
    assert ran.wait() == 0, ran.said
    found = counted(empty_cache)
    assert found["compiled"] == [0, 0]
    assert min(found["loaded"]) >= LOADED


@pytest.mark.long
def test_a_run_whose_workers_cannot_be_compiled_for_ends_in_words(
    dask_cluster: Any, empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del empty_cache
    script = tmp_path / "killing.py"
    script.write_text(
        "import dcsvm_dask.runtime.compile_once as it\n"
        "it.COMMAND = 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'\n"
    )
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__PRELOAD", repr([str(script)]))
    address, _ = dask_cluster.start(1)
    with Client(address) as client:
        client.wait_for_workers(1, SECONDS)
        plugin = PrepareWorker(shield=False, run=BegunBy("run", versions()))
        with (
            pytest.raises(RunError, match=r"compiling for the workers of .* ended by SIGKILL"),
            prepared(client, Announcer("run", []), plugin),
        ):
            pass
