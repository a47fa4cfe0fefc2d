"""What the tasks of a loop do, on workers and in this process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.methods.loop import Held, Loop, Rule
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

CHECKPOINT_SECONDS = 10.0
"""Time between two commits of a loop, about: so much work is lost with what is not committed."""


class HeldRows(list[Any]):
    """The rows of some shares that stay together on one worker."""

    def __sizeof__(self) -> int:
        """Return the bytes of the rows, by which Dask leaves them where they are."""
        return sum(one.__sizeof__() for one in self)


@dataclass(frozen=True, slots=True)
class Solved:
    """The memory after a step, and the step; None where nothing is left to do."""

    memory: Any
    step: Any = None


def load(run: RunFolder, loop: Loop, parts: Sequence[int]) -> HeldRows:
    """Return the rows of some shares."""
    return HeldRows(loop.load(run, part) for part in parts)


def begin(
    run: RunFolder,
    loop: Loop,
    rule: Rule,
    memory: Any,
    rows: HeldRows,
    parts: Sequence[int],
    *,
    along: bool = False,
) -> Held:
    """Return where some shares stand at the last commit; `along`: with what may be members."""
    shares = [loop.begin(run, part) for part in parts]
    found = rule.merge([rule.look(*one) for one in zip(rows, shares, strict=True)], memory)
    with_it = _along(rule, rows, shares, found, memory) if along else []
    return Held(shares, found, [0.0] * len(shares), with_it)


def _along(rule: Rule, rows: HeldRows, shares: list[Any], found: Any, memory: Any) -> list[Any]:
    wanted = rule.wanted(found, memory)
    return [rule.along(*one, wanted) for one in zip(rows, shares, strict=True)]


def choose_and_solve(rule: Rule, before: Solved, *offers: tuple[Any, list[Any]]) -> Solved:
    """Choose the next step and solve it, of members that came along."""
    memory = choose(rule, before, *(found for found, _ in offers))
    if memory.is_done:
        return Solved(memory)
    along = [one for _, some in offers for one in some]
    return Solved(*rule.solve(memory, rule.pick(memory, along), 1))


def choose(rule: Rule, before: Solved, *found: Any) -> Any:
    """Return the memory with the members of the next step."""
    if before.memory.is_done:
        return before.memory
    return rule.choose(before.memory, rule.merge(found, before.memory))


def fetch(rule: Rule, rows: HeldRows, held: Held, memory: Any) -> list[Any]:
    """Return the members of the next step that are of some shares."""
    if memory.is_done:
        return []
    return [rule.fetch(*one, memory) for one in zip(rows, held.shares, strict=True)]


def solve(rule: Rule, memory: Any, *members: list[Any], threads: int = 1) -> Solved:
    """Solve the step, unless nothing is left to do."""
    if memory.is_done:
        return Solved(memory)
    return Solved(*rule.solve(memory, [one for some in members for one in some], threads))


def advance(
    rule: Rule,
    rows: HeldRows,
    held: Held,
    solved: Solved,
    *,
    threads: int = 1,
    along: bool = False,
) -> Held:
    """Return some shares after a step; `along`: with what may be members of the next one."""
    if solved.step is None:
        return held
    shares: list[Any] = [None] * len(rows)
    found: list[Any] = [None] * len(rows)
    seconds = list(held.seconds)
    side_by_side = min(threads, len(rows))
    each = max(1, threads // side_by_side)

    def one(i: int) -> None:
        begun = time.thread_time()
        shares[i] = rule.advance(rows[i], held.shares[i], solved.step, each)
        found[i] = rule.look(rows[i], shares[i])
        seconds[i] += time.thread_time() - begun

    for_each(one, range(len(rows)), side_by_side)
    together = rule.merge(found, solved.memory)
    with_it = _along(rule, rows, shares, together, solved.memory) if along else []
    return Held(shares, together, seconds, with_it)


def progress(rule: Rule, solved: Solved) -> Record:
    """Return the numbers of progress, with ``is_done``."""
    return {**rule.progress(solved.memory), "is_done": bool(solved.memory.is_done)}
