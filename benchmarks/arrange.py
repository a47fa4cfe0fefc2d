"""Bytes that arranging rows in block order reads, over the bytes of the data set.

    python -m benchmarks.arrange [--rows 1000000] [--features 54] [--parts 8 64 512]

Ingests generated rows, then clusters them into as many blocks as there are parts and writes them
in block order by that many tasks, all in this process, which keeps no chunk in memory from one
task to the next. Counts every byte that comes out of a store: of arrays, pages and JSON objects.
Writes ``arrange.json``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from zarr.abc.store import Store
from zarr.storage import WrapperStore

import dcsvm_dask.api as dcsvm
from benchmarks.runs import write
from dcsvm_dask.methods import resources
from dcsvm_dask.methods.dcsvm.stages import arrange_stage
from dcsvm_dask.methods.graph import Graph, Stages
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import StopRun
from dcsvm_dask.runtime.carry import carry
from dcsvm_dask.runtime.executors import in_process
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--features", type=int, default=54)
    options.add_argument("--parts", type=int, nargs="+", default=[8, 64, 512])
    options.add_argument("--out", type=Path, default=Path("arrange.json"))
    chosen = options.parse_args()
    rng, found = np.random.default_rng(0), {}
    X = rng.random((chosen.rows, chosen.features), dtype=np.float32)
    y = np.where(X[:, 0] + X[:, 1] > 1, 1, -1)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data = dcsvm.ingest((X, y), home / "data.zarr")
        del X, y
        stored = size_of(data)
        with counted_bytes() as count:
            for parts in chosen.parts:
                count.clear()
                begin = time.perf_counter()
                arrange(data, home / f"run-{parts}", parts)
                seconds = time.perf_counter() - begin
                found[parts] = {**count, "stored": stored, "seconds": seconds}
                print(
                    f"{parts:4d} parts: read {count['read'] / stored:.2f} times the data's "
                    f"{stored / 1e6:.0f} MB; {seconds:.1f} s",
                    flush=True,
                )
    write(chosen.out, found)
    return 0


def size_of(data: DataSet) -> int:
    """Return the bytes that a part of a data set takes in its store."""
    return sum((data.place / data.attempt / data.part).keys().values())


def arrange(
    data: DataSet,
    place: Path,
    parts: int,
    *,
    clusters: int | None = None,
    threads: int = 1,
    run: RunFolder | None = None,
) -> RunFolder:
    """Put the rows of a data set in block order in so many tasks, and return the run.

    Parameters
    ----------
    clusters : int, optional
        Blocks, before large ones are split; None: as many as tasks.
    run : RunFolder, optional
        One that has been begun so.
    """
    clusters = parts if clusters is None else clusters
    settings, goals, shape = Training(gamma=1.0, C=1.0, clusters=(clusters,)).settle(data)
    header = {
        "settings": settings.to_json(),
        "goals": asdict(goals),
        "shape": asdict(shape),
        "data": {"url": data.url, "fingerprint": data.fingerprint},
        "versions": {},
    }
    run = RunFolder.create(Location.of(place), header) if run is None else run
    stage = arrange_stage(settings, shape, parts)

    def method() -> Stages:
        graph: Graph = [stage]
        yield graph
        raise StopRun  # at the end of a run its arranged rows are deleted

    with chunks_not_kept(threads), in_process(Announcer("", [])) as executor, suppress(StopRun):
        carry(run, method, executor)
    return run


@contextmanager
def chunks_not_kept(threads: int) -> Iterator[None]:
    """Keep one chunk of rows at most in memory, in the block."""
    before = resources.cache_bytes(), resources.threads()
    resources.use(memory=0, threads=threads)
    try:
        yield
    finally:
        resources.use(memory=int(before[0] / resources.CACHE_SHARE), threads=before[1])


@contextmanager
def counted_bytes() -> Iterator[Counter[str]]:
    """Count the bytes that stores give in the block, as ``read``."""
    count, guard, store = Counter[str](), threading.Lock(), Location.store

    def add(n_bytes: int) -> None:
        with guard:
            count["read"] += n_bytes

    class CountedStore(WrapperStore[Store]):
        async def get(self, *args: Any, **words: Any) -> Any:
            found = await self._store.get(*args, **words)
            add(0 if found is None else len(found))
            return found

    def measured(name: str) -> Any:
        read = getattr(Location, name)

        def call(self: Location, *args: int) -> bytes:
            found: bytes = read(self, *args)
            add(len(found))
            return found

        return mock.patch.object(Location, name, call)

    with (
        measured("read_bytes"),
        measured("read_range"),
        mock.patch.object(Location, "store", lambda self: CountedStore(store(self))),
    ):
        yield count


if __name__ == "__main__":
    sys.exit(main())
