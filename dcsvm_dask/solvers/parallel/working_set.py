"""The working set of a step, and what the choice of the next one has to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
FREE, ZERO, BOUNDED = range(3)
"""Where a variable is: between its bounds, at zero, or at another bound."""
MOST_TRACED = 64
"""Steps whose violation is remembered: of more every second one."""


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """A working set, with what happened until then.

    Attributes
    ----------
    index : ndarray of int64, shape (q,)
        Its variables, ascending.
    age : ndarray of int64, shape (q,)
        For how many steps in a row each has been in the set.
    place : ndarray of int8, shape (q,)
        `FREE`, `ZERO` or `BOUNDED`, after its step.
    entering : int
        Most variables that may enter the next set.
    violation, first_violation : float
        Of the problem before its step, and before the first one.
    size : float
        Sum of the sizes of all variables, where that matters.
    steps, iterations, moved, kernel_values, fallbacks : int
        Steps that were taken, iterations of the inner solver, variables that were changed, kernel
        values of working sets, and sets that the inner solver did not finish.
    least_violation : float
        The smallest until now.
    idle : int
        Steps since then.
    gained, idle_gain : float
        By how much the objective has fallen from that of zero, and by how much in the idle steps.
    seconds : float
        Processor time of choosing and solving.
    is_done : bool
        Whether the violation is small enough, or nothing moves any more but by rounding: nothing
        more is done.
    began : float
        When the first step from the point where steps began was due, in seconds since 1970; 0
        where nobody asks.
    trace : tuple of (float, int, float)
        Since then: times, numbers of steps, and the violation before each of them, of at most
        `MOST_TRACED` steps.
    """

    index: Index
    age: Index
    place: NDArray[np.int8]
    entering: int
    violation: float = np.inf
    first_violation: float = np.inf
    size: float = 0.0
    steps: int = 0
    iterations: int = 0
    moved: int = 0
    kernel_values: int = 0
    fallbacks: int = 0
    least_violation: float = np.inf
    idle: int = 0
    gained: float = 0.0
    idle_gain: float = 0.0
    seconds: float = 0.0
    is_done: bool = False
    began: float = 0.0
    trace: tuple[tuple[float, int, float], ...] = ()

    @classmethod
    def empty(cls, entering: int, size: float = 0.0, objective: float = 0.0) -> WorkingSet:
        """Return that before the first step.

        Parameters
        ----------
        entering : int
            How many variables may enter.
        size : float, default 0.0
            Sum of all absolute values of variables at the start.
        objective : float, default 0.0
            The objective at the start: what it is below that of zero was gained before.
        """
        none, gained = np.empty(0, np.int64), max(0.0, -objective)
        return cls(none, none, np.empty(0, np.int8), entering, size=size, gained=gained)

    NUMBERS = (
        "entering",
        "violation",
        "first_violation",
        "size",
        "steps",
        "iterations",
        "moved",
        "kernel_values",
        "fallbacks",
        "least_violation",
        "idle",
        "gained",
        "idle_gain",
        "seconds",
    )
    ARRAYS = ("index", "age", "place")

    def numbers(self) -> dict[str, Any]:
        """Return what a record keeps."""
        return {name: getattr(self, name) for name in self.NUMBERS}

    def traced(self, now: float) -> tuple[tuple[float, int, float], ...]:
        """Return the trace with the step that is about to be taken."""
        found = (*self.trace, (now, self.steps + 1, self.violation))
        return found[::2] if len(found) > MOST_TRACED else found
