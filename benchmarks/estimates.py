"""What runs said of their own end while they went on, beside when it came.

    python -m benchmarks.estimates RUN...

tells every run's folder again and asks, at shares of its time, for the estimate of the end. The
last columns have the largest jump of it, and by what factor the estimate of the remaining time was
wrong at most in the middle half of the run.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.diagnostics.progress.replay import Replay
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


def main() -> None:
    print(
        f"{'run':<12} {'seconds':>8}"
        + "".join(f"{f'at {s:.0%}':>9}" for s in SHARES)
        + "  jump  wrong"
    )
    for place in sys.argv[1:]:
        taken, said = estimates(RunFolder.open(place))
        ratios = [None if one is None else one / taken for one in said]
        picked = [ratios[max(0, round(share * STEPS) - 1)] for share in SHARES]
        late = [one for one in ratios[STEPS // 4 :] if one is not None]
        jump = max(abs(b - a) for a, b in pairwise(late))
        row = "".join(f"{'-' if one is None else f'{one:.2f}':>9}" for one in picked)
        name = place.rstrip("/").rsplit("/", 1)[-1]
        print(f"{name:<12} {taken:8.1f}{row}  {jump:.2f}  {wrong(ratios):.2f}")


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
