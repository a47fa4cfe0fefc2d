"""Time, objectives and duality gap after each pass of dual coordinate descent, for studies."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Descent(Protocol):
    """What is followed."""

    work: int

    def values(self) -> tuple[float, float]:
        """Return the primal and the dual objective of the point that has been reached."""


class Trace:
    """Follows a solve: give it to `dcsvm_dask.solvers.solve_linear` and read `passes` after.

    Measuring takes a pass over all rows after each pass, whose time is left out.
    """

    def __init__(self) -> None:
        self._passes: list[tuple[float, float, float]] = []

    @property
    def passes(self) -> NDArray[np.float64]:
        """Return a row a pass: seconds since the start, primal and dual objective, gap.

        The dual objective is minimised, so that the gap is the sum of both.

        Returns
        -------
        ndarray, shape (n_iter, 4)
        """
        found = np.array(self._passes).reshape(-1, 3)
        return np.column_stack([found, found[:, 1] + found[:, 2]])

    def relative_error(self, best: float) -> NDArray[np.float64]:
        """Return by how much the primal objective is above the best one after each pass.

        Hsieh and others, ICML 2008, (20): the difference, divided by the size of the best one.

        Parameters
        ----------
        best : float
            The least primal objective, or minus the least dual one.
        """
        return np.asarray((self.passes[:, 1] - best) / abs(best))

    def follow(
        self, descent: Descent, callback: Callable[[int, float], object] | None
    ) -> Callable[[int, float], object]:
        """Return a callback that measures after each pass before it calls another."""
        descent.work = 0
        self._passes = []
        start = time.perf_counter()

        def measure(n_iter: int, violation: float) -> object:
            nonlocal start
            now = time.perf_counter()
            self._passes.append((now - start, *descent.values()))
            start += time.perf_counter() - now
            return callback is not None and callback(n_iter, violation)

        return measure
