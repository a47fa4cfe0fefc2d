"""Loops on a Dask cluster: shares stay in the memory of workers, as results of tasks.

A share after a step is a task of the share before and of the step, so that a lost worker's shares
are made again by Dask, from the last commit. Shares are held together in as many groups as tasks
may run at a time: a task costs the scheduler about a millisecond. Steps are submitted several at a
time; those after the last one do nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from dask._task_spec import Task, TaskRef
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from dcsvm_dask.errors import InfeasibleError
from dcsvm_dask.methods.graph import Node, Stage
from dcsvm_dask.methods.loop import Held, Loop, Rule, gathered
from dcsvm_dask.methods.node import open_run
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.runtime import loop_tasks as tasks
from dcsvm_dask.runtime.submitting import submit_keys
from dcsvm_dask.runtime.tasks import perform
from dcsvm_dask.storage.claims import Ownership
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

BATCH_SECONDS = 0.5
"""Time of the steps that are submitted together, about ..."""
MOST_STEPS = 10
"""... and their largest number."""
MOST_ALONG = 8192.0
"""Bytes of a member, of all groups together, up to which what may be members goes along with what a
choice has to know: two tasks fewer that wait for each other, and one a group."""

Key = tuple[str, int, int]
Futures = dict[Key, Any]
Wait = Callable[[Any], Any]


class LoopsOnCluster:
    """Runs loops on the workers of a client; the rows of the last one stay in their memory.

    Parameters
    ----------
    client : distributed.Client
    wait : callable
        Returns the result of a future; raises what stops the run.
    """

    def __init__(self, client: Any, wait: Wait) -> None:
        self._client, self._wait = client, wait
        self._rows: tuple[object, Futures] | None = None

    def run(
        self,
        run: RunFolder,
        stage: Stage,
        groups: int,
        report: Callable[[Record], None],
    ) -> None:
        """Run the loop of a stage until it is done or a commit is due, and commit the stage.

        Parameters
        ----------
        run : RunFolder
        stage : Stage
            With a loop.
        groups : int
            Groups of shares: tasks that may run at a time.
        report : callable
            Called with the numbers of progress of the last step of each batch.
        """
        assert stage.loop is not None
        chain = _Chain(run, stage, stage.loop, min(groups, stage.loop.shares))
        self._hold_rows(chain)
        futures = self._submit(chain.first(), chain.standing(0))
        try:
            due, batch, seconds = time.monotonic() + tasks.CHECKPOINT_SECONDS, 1, 0.0
            step = 0
            while True:
                begun = time.monotonic()
                graph, last = chain.batch(step, batch), step + batch
                wanted = [
                    *chain.standing(last),
                    *(chain.solved(k) for k in range(step + 1, last + 1)),
                    chain.key("progress", last),
                ]
                # The shares before are not needed by name any more; solved steps are, in case that
                # a worker is lost whose shares are made again from the last commit.
                before = [key for key in futures if key[0] != chain.name("solve")]
                futures |= self._submit(graph, wanted)
                _release({key: futures.pop(key) for key in before})
                step = last
                progress = self._wait(futures[chain.key("progress", step)])
                report(progress)
                if progress["is_done"] or time.monotonic() > due:
                    break
                seconds = (time.monotonic() - begun) / batch
                batch = max(1, min(MOST_STEPS, round(BATCH_SECONDS / max(seconds, 1e-3))))
            commit = chain.commit(step)
            futures |= self._submit(commit, list(commit))
            self._wait(futures[next(iter(commit))])
        finally:
            _release(futures)

    def forget(self) -> None:
        """Let go of the rows."""
        if self._rows is not None:
            _release(self._rows[1])
            self._rows = None

    def _hold_rows(self, chain: _Chain) -> None:
        if self._rows is None or self._rows[0] != chain.rows_token:
            self.forget()
            graph = chain.rows()
            self._rows = (chain.rows_token, self._submit(graph, list(graph)))

    def _submit(self, graph: dict[Key, Task], wanted: Sequence[Key]) -> Futures:
        layers: dict[str, dict[Key, Task]] = {}
        for key, task in graph.items():
            layers.setdefault(key[0], {})[key] = task
        by_name = {name: MaterializedLayer(layer) for name, layer in layers.items()}
        # Layers of a loop depend on each other in circles; what counts are the tasks.
        whole = HighLevelGraph(by_name, {name: set() for name in by_name})
        return submit_keys(
            self._client, whole, set(wanted), dict(zip(graph, range(len(graph)), strict=True))
        )


def _release(futures: Futures) -> None:
    """Let go of futures: what nobody else needs of them is dropped, and not begun any more.

    Dask's `cancel` fails where tasks depend on them that nobody holds.
    """
    for future in futures.values():
        future.release()


class _Chain:
    """The tasks of one stage's loop."""

    def __init__(self, run: RunFolder, stage: Stage, loop: Loop, groups: int) -> None:
        self._run, self._stage, self._loop, self._groups = run, stage, loop, groups
        self._rule = loop.rule(run)
        self._along = groups * self._rule.row_bytes <= MOST_ALONG
        owner = None if run.owner is None else run.owner.name
        self._token = tokenize(run.place.url, run.digest, owner, stage.name)[:12]
        self.rows_token = tokenize(
            run.place.url, run.digest, owner, groups, loop.shares, sorted(loop.same_rows.items())
        )[:12]

    def name(self, what: str) -> str:
        """Return the name of a layer."""
        return f"dcsvm_{self._stage.label}_{what}-{self._token}-{self._stage.name}"

    def key(self, what: str, step: int, group: int = 0) -> Key:
        """Return the key of a task."""
        return self.name(what), step, group

    def solved(self, step: int) -> Key:
        """Return the key of a solved step; 0 is the last commit."""
        return self.key("solve", step)

    def standing(self, step: int) -> list[Key]:
        """Return the keys of all groups after a step."""
        return [self.key("advance", step, group) for group in range(self._groups)]

    def rows(self) -> dict[Key, Task]:
        """Return the tasks that load the rows of each group."""
        url, owner = self._run.place.url, self._run.owner
        return {
            key: Task(key, load_rows, url, owner, self._loop, self._parts(key[2]))
            for key in map(self._rows_key, range(self._groups))
        }

    def first(self) -> dict[Key, Task]:
        """Return the tasks that read the last commit."""
        url, owner, loop, rule = self._run.place.url, self._run.owner, self._loop, self._rule
        memory = self.solved(0)
        graph = {memory: Task(memory, remember, url, owner, loop)}
        for group, key in enumerate(self.standing(0)):
            rows = TaskRef(self._rows_key(group))
            about = (rule, TaskRef(memory), rows, self._parts(group), self._along)
            graph[key] = Task(key, begin, url, owner, loop, *about)
        return graph

    def batch(self, step: int, count: int) -> dict[Key, Task]:
        """Return the tasks of some steps after a step."""
        graph: dict[Key, Task] = {}
        rule, groups = self._rule, range(self._groups)

        def add(key: Key, function: Callable[..., Any], *arguments: Any) -> TaskRef:
            graph[key] = Task(key, function, rule, *arguments)
            return TaskRef(key)

        for k in range(step + 1, step + count + 1):
            before = [TaskRef(key) for key in self.standing(k - 1)]
            rows = [TaskRef(self._rows_key(group)) for group in groups]
            if self._along:
                offers = [
                    add(self.key("look", k, group), offer_of, before[group]) for group in groups
                ]
                add(self.solved(k), tasks.choose_and_solve, TaskRef(self.solved(k - 1)), *offers)
                self._add_advance(graph, k)
                continue
            found = [add(self.key("look", k, group), found_of, before[group]) for group in groups]
            memory = add(self.key("choose", k), tasks.choose, TaskRef(self.solved(k - 1)), *found)
            members = [
                add(self.key("fetch", k, group), tasks.fetch, rows[group], before[group], memory)
                for group in groups
            ]
            add(self.solved(k), tasks.solve, memory, *members)
            self._add_advance(graph, k)
        add(self.key("progress", step + count), tasks.progress, TaskRef(self.solved(step + count)))
        return graph

    def _add_advance(self, graph: dict[Key, Task], k: int) -> None:
        """Add the tasks by which all groups take step k."""
        before, solved = self.standing(k - 1), TaskRef(self.solved(k))
        for group, key in enumerate(self.standing(k)):
            rows = TaskRef(self._rows_key(group))
            held = TaskRef(before[group])
            graph[key] = Task(key, advance, self._rule, rows, held, solved, self._along)

    def commit(self, step: int) -> dict[Key, Task]:
        """Return the task that commits the stage after a step."""
        (layer,) = self._stage.layers
        (node,) = layer.nodes
        key = self.key(layer.name, step)
        held = map(TaskRef, self.standing(step))
        about = (self._run.place.url, self._run.owner, self._stage.name, layer.name, node)
        return {key: Task(key, commit, *about, TaskRef(self.solved(step)), *held)}

    def _rows_key(self, group: int) -> Key:
        return f"dcsvm_{self._stage.label}_rows-{self.rows_token}", 0, group

    def _parts(self, group: int) -> list[int]:
        return list(range(*share(self._loop.shares, group, self._groups)))


def load_rows(run_url: str, owner: Ownership | None, loop: Loop, parts: list[int]) -> Any:
    """Return the rows of some shares."""
    return tasks.load(_opened(run_url, owner), loop, parts)


def remember(run_url: str, owner: Ownership | None, loop: Loop) -> tasks.Solved:
    """Return the memory of the last commit, as of a solved step."""
    return tasks.Solved(loop.remember(_opened(run_url, owner)))


def begin(
    run_url: str,
    owner: Ownership | None,
    loop: Loop,
    rule: Rule,
    solved: tasks.Solved,
    rows: tasks.HeldRows,
    parts: list[int],
    along: bool,
) -> Held:
    """Return where some shares stand at the last commit."""
    run = _opened(run_url, owner)
    return tasks.begin(run, loop, rule, solved.memory, rows, parts, along=along)


def advance(
    rule: Rule, rows: tasks.HeldRows, held: Held, solved: tasks.Solved, along: bool
) -> Held:
    """Return some shares after a step."""
    return tasks.advance(rule, rows, held, solved, along=along)


def offer_of(rule: Rule, held: Held) -> tuple[Any, list[Any]]:
    """Return what a choice has to know of some shares, with all that may be members."""
    del rule
    return held.found, held.along


def found_of(rule: Rule, held: Held) -> Any:
    """Return what a choice has to know of some shares: without them it is small."""
    del rule
    return held.found


def commit(
    run_url: str,
    owner: Ownership | None,
    stage: str,
    layer: str,
    node: Node,
    solved: tasks.Solved,
    *held: Held,
) -> str | InfeasibleError:
    """Commit what a loop has reached."""
    arguments = {**node.arguments, "reached": gathered(held, solved.memory)}
    return perform(run_url, owner, stage, layer, node.name, node.step, arguments)


def _opened(run_url: str, owner: Ownership | None) -> RunFolder:
    run = open_run(run_url)
    run.check_result_version()
    del owner
    return run
