"""Carrying a method through: run what is not committed, hand back what is."""

from __future__ import annotations

from collections.abc import Callable

from dcsvm_dask.errors import OutOfTimeError, RunError
from dcsvm_dask.methods.graph import COMMIT, Graph, Keep, Outcome, Stage, Stages
from dcsvm_dask.runtime.announcer import Message, graph_message
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.storage.lock import HEARTBEAT_SECONDS
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

# Superseded stages whose records may lie in the stage's folder; then they are moved.
MOST_SUPERSEDED = 16


def carry(
    run: RunFolder,
    begin: Callable[[], Stages],
    executor: Executor,
    check: Callable[[], None] = lambda: None,
    learn: Callable[[dict[str, Record]], None] = lambda _: None,
) -> Outcome | None:
    """Drive a method to its end; None where the time budget ended it before.

    Stages that are committed are not run again. `check` is called again and again while stages
    run, and raises where they must stop: the time budget is used up, or the run is no longer this
    process's. `begin` gives the method, from
    its beginning once more where stages are gone that only their chain can make. `learn` is told
    the records of every graph that is committed.
    """
    method, seen, superseded = begin(), list[Stage](), list[str]()
    run = run.carried()
    try:
        graph = next(method)
        while True:
            seen += graph
            run.check_owner(HEARTBEAT_SECONDS)
            absent = [stage for stage in graph if run.find(stage.name, COMMIT) is None]
            lost = lost_chain(run, seen, absent)
            if lost:
                run.discard(*lost)
                run = run.taken_back()
                method, seen, superseded = begin(), [], []
                graph = next(method)
                continue
            missing = to_run(run, seen, absent)
            if len(missing) > len(absent):
                run = run.taken_back()
            if missing:
                executor.tell(announced(run, missing, graph))
                executor.run(run, missing, check)
                run.check_owner(HEARTBEAT_SECONDS)
            for stage in [*(s for s in missing if s not in graph), *graph]:
                tidy(run, stage)
                superseded += [
                    one.name
                    for one in seen
                    if one.name == stage.supersedes and not keeps(one, Keep.RUN, Keep.ALWAYS)
                ]
            if len(superseded) >= MOST_SUPERSEDED:
                run.fold(superseded)
                superseded = []
            records = committed(run, graph)
            if missing:
                executor.tell({"kind": "graph_done", "commits": records})
            else:
                executor.tell(graph_message(graph, records, {}))
            learn(records)
            graph = method.send(records)
    except StopIteration as end:
        for name, nodes in kept_for_the_run(seen).items():
            run.release(name, *nodes)
        gone = {stage.supersedes for stage in seen}
        until_now = [
            one.name
            for one in seen
            if one.name in gone and keeps(one, Keep.RUN) and not keeps(one, Keep.ALWAYS)
        ]
        run.fold([*superseded, *until_now])
        outcome: Outcome = end.value
        return outcome
    except OutOfTimeError:
        return None


def announced(run: RunFolder, missing: Graph, graph: Graph) -> Message:
    """Return the message that says which stages are next, and what of them is committed."""
    begun = set(run.stages())
    there = {stage.name: run.nodes(stage.name) for stage in missing if stage.name in begun}
    ready = {
        stage.name: found.record
        for stage in graph
        if stage not in missing and (found := run.find(stage.name, COMMIT)) is not None
    }
    again = [stage for stage in missing if stage not in graph]
    return graph_message([*again, *graph], ready, there)


def tidy(run: RunFolder, stage: Stage) -> None:
    """Delete what a committed stage leaves behind that nobody needs."""
    kept = {
        node.name for layer in stage.layers if layer.keep is not Keep.STAGE for node in layer.nodes
    }
    run.settle(stage.name, kept)
    if stage.supersedes is not None:
        run.release(stage.supersedes, COMMIT)


def keeps(stage: Stage, *kept: Keep) -> bool:
    """Return whether arrays stay for so long, beside those of the commit."""
    nodes = (node for layer in stage.layers if layer.keep in kept for node in layer.nodes)
    return any(node.name != COMMIT for node in nodes)


def kept_for_the_run(stages: Graph) -> dict[str, list[str]]:
    """Return the nodes whose arrays stay until the run is complete, by stage."""
    kept: dict[str, list[str]] = {}
    for stage in stages:
        for layer in stage.layers:
            if layer.keep is Keep.RUN:
                kept.setdefault(stage.name, []).extend(node.name for node in layer.nodes)
    return kept


def to_run(run: RunFolder, seen: Graph, missing: Graph) -> Graph:
    """Return the stages of a graph that are not committed, after those that they need again.

    Where all are committed nothing is needed, so a run that was killed while it deleted what it
    had kept does nothing again. Otherwise what was kept for the run may be gone, because the run
    was complete once: it gives the same arrays again.
    """
    if not missing:
        return []
    by_name = {stage.name: stage for stage in seen}
    again = [
        by_name[name]
        for name, nodes in kept_for_the_run(seen).items()
        if by_name[name] not in missing and run.released(name).intersection(nodes)
    ]
    stages = [*again, *missing]
    for stage in stages:
        run.reopen(stage.name)
    return stages


def lost_chain(run: RunFolder, seen: Graph, absent: Graph) -> list[str]:
    """Return the stages of a chain to do again, the first one first; empty where none is lost.

    Where a commit was taken back (it was damaged, and its stage deleted), those before it have
    been released. How a chain went on from one to the next may have rested on other goals than
    there are now, so it begins again.
    """
    missing = next(iter(absent), None)
    if missing is None or missing.supersedes is None:
        return []
    if not released(run, missing.supersedes, COMMIT, absent=True):
        return []
    before = {stage.name: stage.supersedes for stage in seen}
    chain = [missing.name]
    while (name := before[chain[0]]) is not None:
        chain.insert(0, name)
    return chain


def released(run: RunFolder, stage: str, node: str, *, absent: bool = False) -> bool:
    """Return whether a node's arrays were released; `absent`: what one that is not there counts."""
    found = run.find(stage, node)
    return absent if found is None else found.released


def committed(run: RunFolder, graph: Graph) -> dict[str, Record]:
    """Return the records of a graph's stages, with ``released``: whether its arrays are gone."""
    records = {}
    for stage in graph:
        found = run.find(stage.name, COMMIT)
        if found is None:
            raise RunError(f"{run.place}: stage {stage.name} ended without its commit")
        records[stage.name] = {**found.record, "released": found.released}
    return records
