"""The time axis of a run: times in which nobody carried it are cut out."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from dcsvm_dask.diagnostics.status import LONGEST_PAUSE
from dcsvm_dask.storage.node import Record

Span = tuple[float, float]


class Clock:
    """Takes times (since 1970) to seconds of the run.

    Parameters
    ----------
    spans : list of (begin, end)
        When somebody was at work on the run; pauses of a few seconds between them count.
    """

    def __init__(self, spans: list[Span]) -> None:
        self._spans: list[Span] = []
        for begin, end in sorted(spans):
            if self._spans and begin <= self._spans[-1][1] + LONGEST_PAUSE:
                self._spans[-1] = (self._spans[-1][0], max(end, self._spans[-1][1]))
            else:
                self._spans.append((begin, end))
        self._before, total = [], 0.0
        for begin, end in self._spans:
            self._before.append(total)
            total += end - begin
        self.total = total
        """Seconds from the begin to the end."""

    @classmethod
    def of(cls, nodes: dict[str, dict[str, Record]], journal: list[list[dict[str, Any]]]) -> Clock:
        """Return the clock of a run, from its nodes and the processes that carried it."""
        spans = [
            (record["began"], record["began"] + record["seconds"])
            for found in nodes.values()
            for record in found.values()
        ]
        spans += [
            (entries[0]["time"], max(entry["time"] for entry in entries))
            for entries in journal
            if entries
        ]
        return cls(spans)

    @property
    def breaks(self) -> list[float]:
        """Seconds of the run at which it was taken up again after a pause."""
        return self._before[1:]

    @property
    def pauses(self) -> float:
        """Seconds that were cut out."""
        return self._spans[-1][1] - self._spans[0][0] - self.total if self._spans else 0.0

    def __call__(self, time: float) -> float:
        """Return the seconds of the run at a time."""
        if not self._spans:
            return 0.0
        at = max(bisect_right(self._spans, (time, float("inf"))) - 1, 0)
        begin, end = self._spans[at]
        return self._before[at] + min(max(time - begin, 0.0), end - begin)
