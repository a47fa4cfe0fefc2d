"""What `verbose` prints of a fit in memory: how far it is, at most a line a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERVAL = 1.0
"""Seconds between two lines."""
FOLLOWED_ABOVE = 1000
"""Rows: smaller SVMs are done at once, and solvers would take other steps if they were followed."""


class FitLines:
    """The lines of a fit; none where `verbose` is false.

    Parameters
    ----------
    verbose : bool
    count : int
        How many SVMs are solved.
    """

    def __init__(self, verbose: bool, count: int) -> None:
        self.verbose, self.count = verbose, count
        self._lock, self._done = threading.Lock(), 0
        self._begun = self._last = time.perf_counter()

    def callback(self, smallest: int, unit: float = 1.0) -> Callable[[int, float], object] | None:
        """Return a solver's callback; None where nothing is printed of what it does.

        Parameters
        ----------
        smallest : int
            Rows of the smallest SVM.
        unit : float, default 1.0
            What violations are multiplied by.
        """
        if not self.verbose or smallest <= FOLLOWED_ABOVE:
            return None
        return lambda n_iter, violation: self._step(n_iter, violation * unit)

    @contextmanager
    def machine(self) -> Iterator[None]:
        """Count an SVM that is solved meanwhile."""
        yield
        with self._lock:
            self._done += 1
            self._print(f"{self._done} of {self.count} SVMs solved", done=self._done == self.count)

    def _step(self, n_iter: int, violation: float) -> None:
        with self._lock:
            solving = f"{self._done} of {self.count} SVMs solved"
            self._print(f"{solving}; one is at {n_iter} iterations, violation {violation:.3g}")

    def _print(self, line: str, *, done: bool = False) -> None:
        now = time.perf_counter()
        if self.verbose and (done or now - self._last >= INTERVAL):
            self._last = now
            print(f"{line} ({now - self._begun:.1f} s)", flush=True)
