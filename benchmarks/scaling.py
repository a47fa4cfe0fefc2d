"""How far a recorded run would scale: its tasks laid out on 4 to 256 workers.

    python -m benchmarks.scaling RUN [--plot scaling.svg]

List scheduling of the measured seconds of every task, layer after layer as the graph has them; to
each come its rows over a link of 10 Gbit/s and a few milliseconds of the scheduler. A task that ran
alone on several threads counts with its processor time. Prints the speed-up and the stages that
hold it up.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import dcsvm_dask.api as dcsvm
from dcsvm_dask.storage.dataset import DataSet

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LINK_BYTES = 1.25e9
TASK_SECONDS = 0.003
SHOWN = 6

Layers = dict[str, list[list[float]]]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("run", help="a complete run")
    options.add_argument("--plot", type=Path, help="draw the speed-up into this file")
    options.add_argument("--out", type=Path, default=Path("scaling.json"))
    chosen = options.parse_args()
    layers = recorded(dcsvm.open_run(chosen.run))
    totals = {workers: plan_stages(layers, workers) for workers in WORKERS}
    one = sum(totals[1].values())
    print(f"{'workers':>8} {'seconds':>9} {'speed-up':>9}  longest stages")
    for workers, stages in totals.items():
        total = sum(stages.values())
        longest = sorted(stages.items(), key=lambda item: -item[1])[:SHOWN]
        shown = ", ".join(f"{name} {seconds:.1f}" for name, seconds in longest)
        print(f"{workers:>8} {total:>9.1f} {one / total:>9.1f}  {shown}")
    speedups = {workers: one / sum(stages.values()) for workers, stages in totals.items()}
    chosen.out.write_text(json.dumps({"stages": totals, "speedup": speedups}, indent=1))
    if chosen.plot:
        plot(speedups, chosen.plot)
    return 0


def recorded(run: Any) -> Layers:
    """Return the seconds of a run's tasks, by stage and layer in the order in which they ran."""
    row_bytes = 4 * DataSet.open(run.folder.header["data"]["url"]).n_features
    layers: Layers = {}
    nodes = run.folder.read_all()
    for stage in run.status()["stages"]:
        tasks: dict[str, list[tuple[float, float]]] = defaultdict(list)
        # Those that say how many bytes of rows they have read are the only ones of their stage.
        told = any("bytes" in found.record for found in nodes[stage].values())
        for node, found in nodes[stage].items():
            record = found.record
            layer = node.rsplit("-", 1)[0] if "-" in node else node
            busy = max(record["seconds"], record["cpu_seconds"])
            read = record.get("bytes", 0) if told else record.get("rows", 0) * row_bytes
            moved = read / LINK_BYTES
            tasks[layer].append((record["began"], busy + moved + TASK_SECONDS))
        ordered = sorted(tasks.values(), key=min)
        layers[stage] = [[seconds for _, seconds in sorted(layer)] for layer in ordered]
    return layers


def plan_stages(layers: Layers, workers: int) -> dict[str, float]:
    """Return the seconds that each stage takes on some workers, longest task first."""
    total = {}
    for stage, parts in layers.items():
        seconds = 0.0
        for tasks in parts:
            free = [0.0] * workers
            for task in sorted(tasks, reverse=True):
                heapq.heappush(free, heapq.heappop(free) + task)
            seconds += max(free)
        total[stage] = seconds
    return total


def plot(speedups: dict[int, float], file: Path) -> None:
    """Draw speed-up against workers."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    axes.loglog(list(speedups), list(speedups.values()), "o-", base=2, label="this run")
    axes.loglog(list(speedups), list(speedups), ":", base=2, label="ideal")
    axes.set_xlabel("workers")
    axes.set_ylabel("speed-up")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file)


if __name__ == "__main__":
    sys.exit(main())
