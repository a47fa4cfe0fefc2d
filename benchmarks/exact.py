"""Exact training: us and other trainers in turn, on the same rows, and the ratio of their times.

    python -m benchmarks.exact [--quick] [--tasks ijcnn1,a9a] [--peers onedal] [--times 3]

Ours is the time from workers ready to model committed: Zarr in, the task graph, checkpoints and
the final check included; starting the workers and compiling stand beside it. A peer's is that of
``fit`` with the rows in memory (LIBSVM: of svm-train with its file). Each is run in turn as often
as asked, and the ratio is that of medians. The peers solve with a bias: against their objective
stands ours with ``--fit-intercept``, which must agree within 1e-5. Writes ``exact.json``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.datasets import TASKS
from benchmarks.runs import ingest, train, write

QUICK = ("ijcnn1", "a9a")
ALL = ("ijcnn1", "a9a", "mnist", "covtype-50000")
AGREE = 1e-5
LIMIT_FACTOR, LONGEST = 20.0, 300.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two small tasks, once")
    options.add_argument("--tasks", help=f"of {', '.join(TASKS)}")
    options.add_argument("--peers", default="onedal,libsvm", help=f"of {', '.join(peers.PEERS)}")
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--out", type=Path, default=Path("exact.json"))
    chosen = options.parse_args()
    names = chosen.tasks.split(",") if chosen.tasks else QUICK if chosen.quick else ALL
    times = 1 if chosen.quick else chosen.times
    tasks = {name: compare(name, chosen.peers.split(","), times) for name in names}
    write(chosen.out, {"tasks": tasks})
    wrong = [name for name, task in tasks.items() if not task["agrees"]]
    for name in wrong:
        print(f"{name}: the objectives do NOT agree")
    return int(bool(wrong))


def compare(name: str, rivals: list[str], times: int) -> dict[str, Any]:
    """Run us and the peers in turn; print a line for each; return all figures."""
    task = TASKS[name]()
    print(f"{name}: {task.X.shape[0]} x {task.X.shape[1]}, C {task.C:g}, gamma {task.gamma:g}")
    runs: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        data = ingest(task, Path(folder))
        for number in range(times):
            for bias in (False, True):
                words = ["--fit-intercept"] * bias
                figures = train(task, data, Path(folder) / f"run-{bias}-{number}", *words)
                runs.setdefault("ours, bias" if bias else "ours", []).append(figures)
            limit = min(LIMIT_FACTOR * runs["ours"][0]["seconds"], LONGEST)
            for rival in rivals:
                runs.setdefault(rival, []).append(peers.run(rival, name, limit))
    ours = {bias: median(runs["ours, bias" if bias else "ours"]) for bias in (False, True)}
    for who, all_figures in runs.items():
        print("  " + line(who, all_figures, ours))
    mine = runs["ours, bias"][0]["objective"]
    theirs = [
        figures["objective"]
        for rival in rivals
        for figures in runs[rival][:1]
        if "objective" in figures
    ]
    agrees = all(abs(mine - other) <= AGREE * abs(other) for other in theirs)
    return {"runs": runs, "agrees": agrees}


def median(runs: list[dict[str, Any]]) -> float:
    """Return the median of the seconds; not a number where there are none."""
    seconds = [figures["seconds"] for figures in runs if "seconds" in figures]
    return statistics.median(seconds) if seconds else float("nan")


def line(who: str, runs: list[dict[str, Any]], ours: dict[bool, float]) -> str:
    """Return a trainer's figures in one line."""
    first = runs[0]
    if "seconds" not in first:
        return f"{who:<11} {first}"
    seconds = median(runs)
    text = f"{who:<11} {seconds:8.2f} s{'+' if first.get('stopped') else ' '}"
    if not who.startswith("ours"):
        text += f"  {seconds / ours[False]:6.2f} x ours, {seconds / ours[True]:6.2f} x with a bias"
    for key, form in (("accuracy", "{:.5f}"), ("n_support", "{}"), ("objective", "{:.3f}")):
        if key in first:
            text += f"  {key} {form.format(first[key])}"
    if "floor_ratio" in first:
        text += f"  work {first['floor_ratio']:.2f} x n x nSV, start {first['start_seconds']:.1f} s"
    return text


if __name__ == "__main__":
    sys.exit(main())
