"""How far a recorded run would scale: its tasks laid out on 4 to 256 workers.

    python -m benchmarks.scaling RUN [--plot scaling.svg]

List scheduling of the measured seconds of every task, layer after layer as the graph has them; to
each come its rows over a link of 10 Gbit/s and a few milliseconds of the scheduler. A task that ran
alone on several threads counts with its processor time. The working sets of a decomposition are
laid out as they are computed: one worker chooses and solves, then shares of the rows take the step,
and every set costs the hops between tasks, their number, and its rows on the way (`layers` measures
the first two). Prints the speed-up and the stages that hold it up.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import dcsvm_dask.api as dcsvm
from dcsvm_dask.storage.dataset import DataSet

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LINK_BYTES = 1.25e9
TASK_SECONDS = 0.003
SHOWN = 6

HOP_SECONDS, STEP_TASK_SECONDS = 0.0055, 0.0006
"""From one task of a loop to the next that waits for it, and the scheduler's time for each."""
HOPS, GROUP_TASKS, OTHER_TASKS = 3, 2, 1
"""Of a set of narrow rows: tasks that wait for each other, those of a group of shares, others."""
CANDIDATE_BYTES = 32
"""What a share tells of a variable that may enter a set: two values, two numbers."""

Layers = dict[str, list[list[float]]]


@dataclass(frozen=True)
class Sets:
    """The working sets of a stage.

    Attributes
    ----------
    count, rows : int
        Their number, and the rows of one.
    moved : int
        Rows that have moved, of all sets together.
    solving : float
        Processor seconds of choosing and solving them.
    shares : list of float
        Processor seconds of each share of the rows.
    row_bytes : float
    """

    count: int
    rows: int
    moved: int
    solving: float
    shares: list[float]
    row_bytes: float

    def seconds(self, workers: int) -> float:
        """Return the time that they take on some workers, which hold neighbouring shares."""
        groups = min(workers, len(self.shares))
        borders = [len(self.shares) * group // groups for group in range(groups + 1)]
        longest = max(sum(self.shares[a:b]) for a, b in pairwise(borders))
        if workers == 1:
            return self.solving + longest
        tasks = GROUP_TASKS * groups + OTHER_TASKS
        hops = self.count * (HOPS * HOP_SECONDS + tasks * STEP_TASK_SECONDS)
        fetched = self.count * self.rows * (self.row_bytes + groups * CANDIDATE_BYTES)
        sent = groups * self.moved * self.row_bytes
        return self.solving + longest + hops + (fetched + sent) / LINK_BYTES


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("run", help="a complete run")
    options.add_argument("--plot", type=Path, help="draw the speed-up into this file")
    options.add_argument("--out", type=Path, default=Path("scaling.json"))
    chosen = options.parse_args()
    run = dcsvm.open_run(chosen.run)
    layers, sets = recorded(run), recorded_sets(run)
    totals = {workers: seconds_on(layers, sets, workers) for workers in WORKERS}
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
            if "share_seconds" in record:  # see `recorded_sets`
                sets = record["set_seconds"] + sum(record["share_seconds"])
                busy = max(0.0, record["cpu_seconds"] - sets)
            read = record.get("bytes", 0) if told else record.get("rows", 0) * row_bytes
            moved = read / LINK_BYTES
            tasks[layer].append((record["began"], busy + moved + TASK_SECONDS))
        ordered = sorted(tasks.values(), key=min)
        layers[stage] = [[seconds for _, seconds in sorted(layer)] for layer in ordered]
    return layers


def seconds_on(layers: Layers, sets: dict[str, Sets], workers: int) -> dict[str, float]:
    """Return the seconds of each stage on some workers."""
    found = plan_stages(layers, workers)
    for name, of_stage in sets.items():
        found[name] += of_stage.seconds(workers)
    return found


def recorded_sets(run: Any) -> dict[str, Sets]:
    """Return the working sets of a run's stages that have some."""
    row_bytes = 4.0 * DataSet.open(run.folder.header["data"]["url"]).n_features
    found: dict[str, Sets] = {}
    before: dict[str, Any] = {"steps": 0, "moved": 0}
    for stage, record in run.status()["stages"].items():
        if "share_seconds" not in record:
            continue
        now = record["set"]
        if now["steps"] < before["steps"]:  # they begin anew after f was computed from scratch
            before = {"steps": 0, "moved": 0}
        found[stage] = Sets(
            now["steps"] - before["steps"],
            record["active"],
            now["moved"] - before["moved"],
            record["set_seconds"],
            record["share_seconds"],
            row_bytes,
        )
        before = now
    return found


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
