"""Loops in this process: shares on threads."""

from __future__ import annotations

import time
from collections.abc import Callable

from dcsvm_dask.methods import resources
from dcsvm_dask.methods.graph import Stage
from dcsvm_dask.methods.loop import Loop, Reached, gathered
from dcsvm_dask.runtime import loop_tasks as tasks
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder


class LoopsHere:
    """Runs loops in this process; the rows of the last one stay in memory."""

    def __init__(self) -> None:
        self._rows: tuple[object, tasks.HeldRows] | None = None

    def run(self, run: RunFolder, stage: Stage, report: Callable[[Record], None]) -> Reached:
        """Run the loop of a stage until it is done, or a commit is due.

        Parameters
        ----------
        run : RunFolder
        stage : Stage
            With a loop.
        report : callable
            Called with the numbers of progress after every step; what it raises stops the loop.
        """
        loop, threads = stage.loop, resources.threads()
        assert loop is not None
        rule, parts = loop.rule(run), range(loop.shares)
        rows = self._rows_of(run, loop)
        solved = tasks.Solved(loop.remember(run))
        held = tasks.begin(run, loop, rule, solved.memory, rows, parts)
        due = time.monotonic() + tasks.CHECKPOINT_SECONDS
        while not solved.memory.is_done:
            memory = tasks.choose(rule, solved, held.found)
            members = tasks.fetch(rule, rows, held, memory)
            solved = tasks.solve(rule, memory, members, threads=threads)
            held = tasks.advance(rule, rows, held, solved, threads=threads)
            report(tasks.progress(rule, solved))
            if time.monotonic() > due:  # after a step, so that every stage comes nearer
                break
        return gathered([held], solved.memory)

    def forget(self) -> None:
        """Let go of the rows."""
        self._rows = None

    def _rows_of(self, run: RunFolder, loop: Loop) -> tasks.HeldRows:
        key = (run.place.url, run.digest, loop.shares, repr(loop.same_rows))
        if self._rows is None or self._rows[0] != key:
            self._rows = None
            self._rows = (key, tasks.load(run, loop, range(loop.shares)))
        return self._rows[1]
