"""What the page DC-SVM costs the scheduler, with nobody looking at it and with a browser open.

    python -m benchmarks.page_cost [--quick]

Trains 100,000 rows of Covertype with about 1,000 blocks at the bottom (quick: 20,000 rows, 200
blocks) on local workers and keeps what was logged on their scheduler, with the times. The same is
then logged at the same pace on a scheduler of its own, with the page closed, open in a headless
Chromium, and closed again; the processor time of the scheduler's process is read before and after.
What it takes to follow the run where nobody looks is timed by itself. Writes ``page_cost.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client

import dcsvm_dask.api as dcsvm
from benchmarks.datasets import covtype
from benchmarks.runs import ingest, write
from dcsvm_dask.diagnostics.dashboard.plugin import PagePlugin
from dcsvm_dask.diagnostics.dashboard.runs import Runs
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import StageDone
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.topic import TOPIC

Messages = list[tuple[float, dict[str, Any]]]
TIMES = 3
DASK = "from dask.__main__ import main; main()"


class Recorder(Callback):
    """Keeps what is logged about a run on its scheduler."""

    def __init__(self) -> None:
        self.messages: Messages = []

    def on_client(self, client: Any) -> None:
        """Take the client."""
        self._client = client

    def on_commit(self, event: StageDone) -> None:
        """Take what there is so far: the scheduler ends with the run."""
        del event
        self.messages = list(self._client.get_events(TOPIC))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="20,000 rows")
    options.add_argument("--out", type=Path, default=Path("page_cost.json"))
    chosen = options.parse_args()
    messages = record(*((20_000, (200, 25)) if chosen.quick else (100_000, (1024, 128, 16))))
    blocks = sum(len(m["record"]["each"]["rows"]) for _, m in messages if each(m))
    lasted = messages[-1][0] - messages[0][0]
    print(f"{len(messages)} messages in {lasted:.1f} s, of {blocks} blocks; {TIMES} times each")
    found = {"following": follow(messages) / lasted}
    print(f"following the run    {found['following']:.2%} of a core")
    # One process: what a scheduler takes by itself differs from one to the next.
    with scheduler() as address, Client(address) as client:
        client.register_plugin(PagePlugin())
        tell(found, "page closed", measure(client, messages))
        with looking(client.dashboard_link.replace("/status", "/dcsvm")):
            tell(found, "page open", measure(client, messages))
        tell(found, "page closed again", measure(client, messages))
    closed = 0.5 * (found["page closed"] + found["page closed again"])
    found["showing"] = found["page open"] - closed
    print(f"showing the page     {found['showing']:.2%} of a core")
    write(chosen.out, {"messages": len(messages), "blocks": blocks, "seconds": lasted, **found})
    return 0


def each(message: dict[str, Any]) -> bool:
    """Return whether a message tells what each block of a task came to."""
    return message["kind"] == "task" and "each" in message["record"]


def record(rows: int, clusters: tuple[int, ...]) -> Messages:
    """Return what a real run logs on its scheduler."""
    recorder, task = Recorder(), covtype(rows)
    with tempfile.TemporaryDirectory() as folder:
        dcsvm.train(
            ingest(task, Path(folder)),
            Path(folder) / "run",
            execution=Execution(),
            quiet=True,
            callbacks=[recorder],
            clusters=clusters,
            gamma=task.gamma,
            C=task.C,
        )
    return recorder.messages


def measure(client: Client, messages: Messages) -> tuple[float, float]:
    """Return the seconds of a core that a scheduler took, and how long it was watched."""
    time.sleep(10.0)  # the browser's first look is not what is measured
    before, begin = client.run_on_scheduler(time.process_time), time.perf_counter()
    for _ in range(TIMES):
        client.sync(replay, client, messages)
    seconds = client.run_on_scheduler(time.process_time) - before
    return seconds, time.perf_counter() - begin


def follow(messages: Messages) -> float:
    """Return the seconds of a core that it takes to follow a run by what is logged of it."""
    runs, before = Runs(), time.process_time()
    for _, message in messages:
        runs.take(TOPIC, dict(message))
    return time.process_time() - before


def tell(found: dict[str, float], name: str, measured: tuple[float, float]) -> None:
    """Print and keep what the whole scheduler took."""
    seconds, wall = measured
    found[name] = seconds / wall
    print(f"{name:<20} {seconds:6.2f} s of {wall:5.1f} s, {found[name]:.2%} of a core", flush=True)


async def replay(client: Any, messages: Messages) -> None:
    """Log messages as they were logged, at the same pace."""
    shift = time.time() - messages[0][0]
    for at, message in messages:
        await asyncio.sleep(max(0.0, at + shift - time.time()))
        later = {"time": message["time"] + shift} if "time" in message else {}
        await client.scheduler.log_event(topic=TOPIC, msg={**message, **later})


@contextmanager
def scheduler() -> Iterator[str]:
    """Start a scheduler; give its address."""
    where = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        process = subprocess.Popen(
            [sys.executable, "-c", DASK, "scheduler", *where, "--scheduler-file", str(file)],
            stderr=subprocess.DEVNULL,
        )
        try:
            while not file.exists():
                time.sleep(0.1)
            time.sleep(1.0)
            yield json.loads(file.read_text())["address"]
        finally:
            process.terminate()
            process.wait()


@contextmanager
def looking(address: str) -> Iterator[None]:
    """Have a headless Chromium look at a page."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("needs chromium: `make browser`")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [
                chromium,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--remote-debugging-port=0",  # so that it stays
                "--window-size=1400,1400",
                f"--user-data-dir={folder}",
                address,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
