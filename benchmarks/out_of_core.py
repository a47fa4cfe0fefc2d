"""Linear SVMs on rows that do not fit the workers' memory: 15 million windows of DNA.

    python -m benchmarks.out_of_core FOLDER [--rows 15028326] [--methods ocas dcd]
        [--workers 2] [--memory-limit 2GB] [--tol 1e-2] [--dense]

Makes the data set (once; FOLDER keeps it), reads all of its chunks plainly by as many processes,
trains by each method in workers of that memory, and prints where the seconds of the tasks went, the
bytes that a pass read over those of the data, and the speed of reading beside that of the plain
read. Writes ``out_of_core.json``; the exit status is 1 where a worker passed its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from dask.distributed import Client, LocalCluster
from dask.utils import parse_bytes

import dcsvm_dask.api as dcsvm
from benchmarks import splice
from benchmarks.peaks import measure
from benchmarks.runs import write
from dcsvm_dask.storage.dataset import DataSet

Figures = dict[str, Any]
DCSVM = str(Path(sys.executable).with_name("dcsvm"))
# What Table 4 of the OCAS paper calls the parts of an iteration, by the layers of a stage.
PHASES = {
    "output": "output",
    "narrow": "line search",
    "slopes": "line search",
    "search": "line search",
    "cut": "cut",
    "reduce": "solver",
    "descend": "descent",
    "join": "joint step",
    "measure": "measuring",
    "commit": "commits",
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--rows", type=int, default=splice.ROWS)
    options.add_argument("--methods", nargs="*", default=["ocas", "dcd"])
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--memory-limit", default="2GB")
    options.add_argument("--tol", default="1e-2")
    options.add_argument("-C", default="1e-5")
    options.add_argument("--dense", action="store_true")
    options.add_argument("--out", type=Path, default=Path("out_of_core.json"))
    chosen = options.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    data = chosen.folder / f"splice-{chosen.rows}-{'dense' if chosen.dense else 'csr'}.zarr"
    limit = parse_bytes(chosen.memory_limit)
    figures: Figures = {"rows": chosen.rows, "workers": chosen.workers, "memory_limit": limit}
    with (
        LocalCluster(
            n_workers=chosen.workers, threads_per_worker=1, memory_limit=chosen.memory_limit
        ) as cluster,
        Client(cluster) as client,
    ):
        if not data.exists():
            begin = time.perf_counter()
            splice.make(data, chosen.rows, is_sparse=not chosen.dense, client=client)
            figures["make_seconds"] = time.perf_counter() - begin
        figures |= sizes(data)
        figures["plain_seconds"] = plain_read(client, str(data), chosen.workers)
    print(json.dumps(figures, indent=1))
    worst = 0
    for method in chosen.methods:
        run = chosen.folder / f"{method}-{chosen.workers}"
        words = ["train", data, "--run", run, "--method", method, "--kernel", "linear"]
        words += ["--fit-intercept", "-C", chosen.C, "--tol", chosen.tol]
        words += ["--workers", chosen.workers, "--memory-limit", chosen.memory_limit]
        begin = time.perf_counter()
        peaks = measure([DCSVM, *map(str, words)])
        seconds = time.perf_counter() - begin
        workers = sorted((peak for name, peak in peaks if name != "command"), reverse=True)
        worst = max(worst, *workers)
        figures[method] = {"seconds": seconds, "peaks": workers[: chosen.workers], **split(run)}
        figures[method] |= reading(run, figures)
        print(json.dumps({method: figures[method]}, indent=1))
    write(chosen.out, figures)
    return int(worst > limit)


def sizes(data: Path) -> Figures:
    """Return the bytes of a data set on disk, and those of its rows in memory."""
    files = [path.stat().st_size for path in data.rglob("*") if path.is_file()]
    rows = DataSet.open(str(data)).rows
    return {"disk_bytes": sum(files), "row_bytes": rows.nbytes_of(0, rows.n_rows)}


def plain_read(client: Client, data: str, workers: int) -> float:
    """Return the seconds in which so many workers read all chunks, each its share."""
    begin = time.perf_counter()
    client.gather(client.map(read_share, range(workers), data=data, shares=workers, pure=False))
    return time.perf_counter() - begin


def read_share(share: int, data: str, shares: int) -> int:
    """Read a share of the chunks."""
    rows = DataSet.open(data).rows
    spans = list(pairwise(rows.borders().tolist()))
    mine = spans[len(spans) * share // shares : len(spans) * (share + 1) // shares]
    return sum(rows.read(start, stop).shape[0] for start, stop in mine)


def split(run: Path) -> Figures:
    """Return the seconds of all tasks of a run, summed up by what they are for."""
    opened = dcsvm.open_run(str(run))
    busy, layers = Counter[str](), opened.folder.read_all()
    for stage, nodes in layers.items():
        for node, committed in nodes.items():
            is_round, layer = stage.split("-")[0] in ("planes", "descent"), node.split("-")[0]
            phase = PHASES.get(layer, layer) if is_round else stage
            busy[phase] += committed.record["seconds"]
    points = opened.history()
    last = opened.status()["stages"][points[-1]["stage"]]
    keys = ("objective", "primal_objective", "gap", "violation", "passes", "iterations", "parts")
    return {
        "task_seconds": {phase: round(seconds, 2) for phase, seconds in busy.most_common()},
        "rounds": len(points),
        **{key: last[key] for key in keys if key in last},
    }


def reading(run: Path, figures: Figures) -> Figures:
    """Return how passes over the rows read: bytes over those of the data, and the speed."""
    nodes = [
        committed.record
        for stage in dcsvm.open_run(str(run)).folder.read_all().values()
        for committed in stage.values()
        if committed.record.get("bytes")
    ]
    if not nodes:
        return {}
    n_bytes, seconds = (sum(node[key] for node in nodes) for key in ("bytes", "reading"))
    passes = sum(node["rows"] for node in nodes) / figures["rows"]
    plain = figures["row_bytes"] / figures["plain_seconds"] / figures["workers"]
    return {
        "passes_with_reading": passes,
        "bytes_over_data": n_bytes / passes / figures["row_bytes"],
        "reading_seconds": seconds,
        "reading_bytes_per_second": n_bytes / seconds,
        "over_plain_read": n_bytes / seconds / plain,
    }


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
