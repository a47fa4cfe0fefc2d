"""Loops: steps over shares of a state that stay in memory between two commits.

A step of milliseconds cannot afford a file. Its results stay in the memory of workers, as Dask's
tasks or as objects of this process, until the loop's stage commits them. What was not committed is
computed again from the last commit, to the same bits: functions depend on their arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder


class Rule(Protocol):
    """One step: shares are looked at, one place chooses and solves, shares take the step.

    Its methods are pure functions; rules go to workers with every task, so they are small.
    """

    @property
    def row_bytes(self) -> float:
        """Bytes of a member, about."""

    def look(self, rows: Any, share: Any) -> Any:
        """Return what the choice has to know of a share."""

    def merge(self, found: Sequence[Any], memory: Any) -> Any:
        """Return what the choice has to know of several shares, in their order."""

    def choose(self, memory: Any, found: Any) -> Any:
        """Return the memory with the members of the next step; ``is_done`` ends the loop."""

    def fetch(self, rows: Any, share: Any, memory: Any) -> Any:
        """Return the members that are of a share."""

    def wanted(self, found: Any, memory: Any) -> Any:
        """Return which variables may be members of the next step."""

    def along(self, rows: Any, share: Any, wanted: Any) -> Any:
        """Return those that may be members and are of a share, as `pick` takes them.

        Where they are small they go with what the choice has to know: nothing is fetched then.
        """

    def pick(self, memory: Any, along: Sequence[Any]) -> list[Any]:
        """Return the members that `fetch` would return, of all shares."""

    def solve(self, memory: Any, members: Sequence[Any], threads: int) -> tuple[Any, Any]:
        """Return the memory after the step, and the step."""

    def advance(self, rows: Any, share: Any, step: Any, threads: int) -> Any:
        """Return a share after a step."""

    def progress(self, memory: Any) -> Record:
        """Return a few numbers for progress; see `dcsvm_dask.runtime.events.SetSolved`."""


@dataclass(frozen=True, slots=True)
class Program:
    """The functions of a loop; of the module's level, so that they can be sent to workers.

    Attributes
    ----------
    rule : callable
        Returns the rule, given the run.
    load : callable
        Returns the rows of a share, given the run, the share and the number of shares.
    begin : callable
        Returns where a share stands at the last commit, given the same.
    remember : callable
        Returns the memory of the last commit, given the run.
    """

    rule: Callable[..., Rule]
    load: Callable[..., Any]
    begin: Callable[..., Any]
    remember: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Loop:
    """Steps that go before the commit of a stage.

    Attributes
    ----------
    program : Program
    shares : int
        Number of shares; it follows from the data and the settings, never from workers.
    arguments : dict
        Keyword arguments of the program's functions: small JSON values.
    same_rows : dict
        Those of `Program.load`: stages of equal ones go on with the rows that are in memory.
    """

    program: Program
    shares: int
    arguments: dict[str, Any] = field(default_factory=dict)
    same_rows: dict[str, Any] = field(default_factory=dict)

    def rule(self, run: RunFolder) -> Rule:
        """Return the rule."""
        return self.program.rule(run, **self.arguments)

    def load(self, run: RunFolder, part: int) -> Any:
        """Return the rows of a share."""
        return self.program.load(run, part, self.shares, **self.same_rows)

    def begin(self, run: RunFolder, part: int) -> Any:
        """Return where a share stands at the last commit."""
        return self.program.begin(run, part, self.shares, **self.arguments)

    def remember(self, run: RunFolder) -> Any:
        """Return the memory of the last commit."""
        return self.program.remember(run, **self.arguments)


@dataclass(frozen=True, slots=True)
class Reached:
    """What a loop reached, for the node that commits it.

    Attributes
    ----------
    shares : list
        All shares, in their order.
    memory : object
        The memory after the last step.
    seconds : list of float
        Processor time of each share's steps in this process.
    """

    shares: list[Any]
    memory: Any
    seconds: list[float]


@dataclass(slots=True)
class Held:
    """Some shares that stay together on one worker: where they stand, and what a choice needs.

    Attributes
    ----------
    shares : list
    found : object
        See `Rule.merge`.
    seconds : list of float
        Processor time of each share's steps.
    along : list
        See `Rule.along`; empty where members are fetched.
    """

    shares: list[Any]
    found: Any
    seconds: list[float]
    along: list[Any] = field(default_factory=list)

    def __sizeof__(self) -> int:
        """Return the bytes of the shares."""
        return sum(one.__sizeof__() for one in self.shares)


def gathered(held: Sequence[Held], memory: Any) -> Reached:
    """Return what was reached, of all shares in their order."""
    return Reached(
        [share for one in held for share in one.shares],
        memory,
        [seconds for one in held for seconds in one.seconds],
    )
