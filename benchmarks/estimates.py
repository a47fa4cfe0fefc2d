"""What runs said of their own end while they went on, beside when it came.

    python -m benchmarks.estimates RUN...
    python -m benchmarks.estimates --train SET:ROWS:C:GAMMA...

The first tells every run's folder again and asks, at shares of its time, for the estimate of the
end; a folder lacks what tasks told while they ran. The second trains on two workers, with a bias,
and asks what was told live; sets and gammas are those of `benchmarks.tables`. The last columns have
the largest jump of the estimate, and by what factor that of the remaining time was wrong at most in
the middle half of the run.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import TARGETS, scale, table
from dcsvm_dask import api
from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.diagnostics.progress.replay import Replay
from dcsvm_dask.runtime.callbacks import METHODS, Callback
from dcsvm_dask.runtime.events import Event, RunBegins, RunEnds
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.run import RunFolder

SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
STEPS = 200


class Watched(Progress):
    """Notes the estimate of a run's whole time at even steps of it."""

    def __init__(self, begin: float, end: float) -> None:
        super().__init__()
        self.estimates: list[float | None] = []
        self._times = [begin + (end - begin) * (i + 1) / STEPS for i in range(STEPS)]

    def until(self, now: float) -> None:
        """Note what was said until something happened."""
        while len(self.estimates) < STEPS and self._times[len(self.estimates)] <= now:
            at = self._times[len(self.estimates)]
            left = self.left(at)
            self.estimates.append(None if left is None else left + self.elapsed(at))

    def __getattribute__(self, name: str) -> Any:
        """Have every call by which something is told look at the time first."""
        found = super().__getattribute__(name)
        if not name.startswith("on_"):
            return found

        def call(event: Any) -> None:
            self.until(event.time)
            found(event)

        return call


class Recorder(Callback):
    """Keeps everything that a run tells."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)


def estimates(run: RunFolder) -> tuple[float, list[float | None]]:
    """Return how long a run took, and what it would have said of that at even steps of it."""
    ends = Progress()
    Replay(run, [ends]).look()
    if ends.beginning is None or ends.ending is None:
        raise SystemExit(f"{run.place}: has not ended")
    watched = Watched(ends.beginning.time, ends.ending.time)
    Replay(run, [watched]).look()
    watched.until(ends.ending.time)
    return ends.ending.time - ends.beginning.time, watched.estimates


def trained(task: str, folder: Path) -> tuple[float, list[float | None]]:
    """Train on a set; return how long it took, and what was said of that at even steps of it."""
    name, rows, C, gamma = task.split(":")
    X, y = table(name)
    kept = np.sort(np.random.default_rng(1).permutation(len(y))[: int(rows)])
    X, factor = X[kept], 1.0 if gamma == "scale" else float(gamma)
    kind = "regression" if name in TARGETS else "classification"
    api.ingest((X, y[kept]), folder / "data.zarr", scale="none", task=kind)
    recorder = Recorder()
    api.train(
        folder / "data.zarr",
        folder / "run",
        C=float(C),
        gamma=factor * scale(X),
        fit_intercept=True,
        execution=Execution(workers=2),
        callbacks=[recorder],
        quiet=True,
    )
    begin = next(one.time for one in recorder.events if isinstance(one, RunBegins))
    end = next(one.time for one in recorder.events if isinstance(one, RunEnds))
    watched = Watched(begin, end)
    for event in recorder.events:
        if type(event) in METHODS:
            getattr(watched, METHODS[type(event)])(event)
    watched.until(end)
    return end - begin, watched.estimates


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("runs", nargs="*", metavar="RUN")
    options.add_argument("--train", nargs="+", default=[], metavar="SET:ROWS:C:GAMMA")
    chosen = options.parse_args()
    print(
        f"{'run':<28} {'seconds':>8}"
        + "".join(f"{f'at {s:.0%}':>9}" for s in SHARES)
        + "  jump  wrong"
    )
    for place in chosen.runs:
        print(line(place.rstrip("/").rsplit("/", 1)[-1], *estimates(RunFolder.open(place))))
    for task in chosen.train:
        with tempfile.TemporaryDirectory() as folder:
            print(line(task, *trained(task, Path(folder))), flush=True)


def line(name: str, taken: float, said: list[float | None]) -> str:
    """Return what is printed of a run."""
    ratios = [None if one is None else one / taken for one in said]
    picked = [ratios[max(0, round(share * STEPS) - 1)] for share in SHARES]
    late = [one for one in ratios[STEPS // 4 :] if one is not None]
    jump = max((abs(b - a) for a, b in pairwise(late)), default=0.0)
    row = "".join(f"{'-' if one is None else f'{one:.2f}':>9}" for one in picked)
    return f"{name:<28} {taken:8.1f}{row}  {jump:.2f}  {wrong(ratios):.2f}"


def wrong(ratios: list[float | None]) -> float:
    """Return the largest factor between estimated and true remaining time, in the middle half."""
    found = [1.0]
    for step in range(STEPS // 4, 3 * STEPS // 4):
        share, ratio = (step + 1) / STEPS, ratios[step]
        left = 1e-3 if ratio is None else max(ratio - share, 1e-3) / (1.0 - share)
        found += [left, 1.0 / left]
    return max(found)


if __name__ == "__main__":
    main()
