"""How far a recorded run would scale: its tasks laid out on 4 to 256 workers.

    python -m benchmarks.scaling RUN [--plot scaling.svg]

List scheduling of the measured seconds of every task, layer after layer as the graph has them; to
each come its rows over a link of 10 Gbit/s and a few milliseconds of the scheduler. A task that ran
alone on several threads counts with its processor time. Workers that are idle take part in the
products of large blocks, which costs asking them (measured with 2 to 8 processes on loopback) and
the rows of the columns on the way to each. The working sets of a decomposition are
laid out as they are computed: one worker chooses and solves, then shares of the rows take the step,
and every set costs the hops between tasks, their number, and its rows on the way (`layers` measures
the first two). Prints the speed-up and the stages that hold it up.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import dcsvm_dask.api as dcsvm
from dcsvm_dask.solvers import number_of_shares
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

HELP_SECONDS, HELPER_SECONDS = 0.02, 0.008
"""Of a product that idle workers take part in, beside the work: for all of them, and for each."""


@dataclass(frozen=True)
class Work:
    """A task of a layer.

    Attributes
    ----------
    seconds : float
        On one worker.
    shared : float
        Seconds of products in which workers that are idle may take part.
    shares : int
        Most workers that may take part in a product, with its own.
    products : int
    others : float
        How many workers may take part in a product beside its own, on average.
    sent_bytes : float
        Of all products, to each that takes part.
    """

    seconds: float
    shared: float = 0.0
    shares: int = 1
    products: int = 0
    others: float = 0.0
    sent_bytes: float = 0.0

    def on(self, workers: int) -> float:
        """Return the seconds that it takes with so many workers."""
        others = min(workers - 1, self.others)
        if others == 0:
            return self.seconds
        # Shares are whole, whoever has them.
        part = max(1.0 / (1.0 + others), math.ceil(self.shares / workers) / self.shares)
        asking = self.products * (HELP_SECONDS + others * HELPER_SECONDS)
        sending = others * self.sent_bytes / LINK_BYTES
        return self.seconds - self.shared * (1.0 - part) + asking + sending


Layers = dict[str, list[list[Work]]]


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
        tasks: dict[str, list[tuple[float, Work]]] = defaultdict(list)
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
            tasks[layer].append((record["began"], _work(record, busy + moved, row_bytes)))
        ordered = sorted(tasks.values(), key=lambda layer: min(began for began, _ in layer))
        layers[stage] = [
            [work for _, work in sorted(layer, key=itemgetter(0))] for layer in ordered
        ]
    return layers


def _work(record: dict[str, Any], seconds: float, row_bytes: float) -> Work:
    """Return what a node's record says of its task."""
    if "shared" not in record:
        return Work(seconds + TASK_SECONDS)
    shared = record["shared"]
    return Work(
        seconds + shared["elsewhere"] + TASK_SECONDS,
        shared["seconds"],
        number_of_shares(record["rows"]),
        shared["products"],
        shared["others"] / shared["products"],
        shared["columns"] * row_bytes,
    )


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
    """Return the seconds that each stage takes on some workers."""
    return {
        stage: sum(layer_seconds(tasks, workers) for tasks in parts)
        for stage, parts in layers.items()
    }


def layer_seconds(tasks: list[Work], workers: int) -> float:
    """Return the seconds of a layer: the longest first, helped by workers that are idle."""
    waiting = sorted(tasks, key=lambda task: task.seconds)
    running: list[list[Any]] = []  # tasks, and the share that is left of each
    seconds = 0.0
    while waiting or running:
        while waiting and len(running) < workers:
            running.append([waiting.pop(), 1.0])
        idle = workers - len(running)
        several = [task for task, _ in running if task.shares > 1]
        each = idle // len(several) if several else 0
        left = [share * task.on(1 + each) for task, share in running]
        step = min(left)
        seconds += step
        running = [
            [task, share - step / task.on(1 + each)]
            for (task, share), until in zip(running, left, strict=True)
            if until > step
        ]
    return seconds


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
