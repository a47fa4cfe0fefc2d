"""Carrying a method through: run what is not committed, hand back what is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dcsvm_dask.errors import OutOfTimeError, RunError
from dcsvm_dask.graphs.graph import COMMIT, Graph, Keep, Outcome, Stage, Stages
from dcsvm_dask.runtime.announcer import Message, graph_message
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

# Nodes whose arrays are deleted at a time.
DELETERS = 8


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
    method, seen = begin(), list[Stage]()
    try:
        graph = next(method)
        while True:
            seen += graph
            run.check_owner()
            lost = lost_chain(run, seen, graph)
            if lost:
                for name in lost:
                    run.discard(name)
                method, seen = begin(), []
                graph = next(method)
                continue
            missing = to_run(run, seen, graph)
            if missing:
                executor.tell(announced(run, missing, graph))
                executor.run(run, missing, check)
                run.check_owner()
            for stage in [*(s for s in missing if s not in graph), *graph]:
                tidy(run, stage)
            records = committed(run, graph)
            if missing:
                executor.tell({"kind": "graph_done", "commits": records})
            else:
                executor.tell(graph_message(graph, records, {}))
            learn(records)
            graph = method.send(records)
    except StopIteration as end:
        for name, node in kept_for_the_run(seen):
            run.release(name, node)
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
    run.sweep(stage.name)
    kept = {
        node.name for layer in stage.layers if layer.keep is not Keep.STAGE for node in layer.nodes
    }
    gone = [name for name in run.nodes(stage.name) if name not in kept]
    with ThreadPoolExecutor(DELETERS) as pool:  # the next stage waits for it
        list(pool.map(lambda name: run.release(stage.name, name), gone))
    if stage.supersedes is not None:
        run.release(stage.supersedes, COMMIT)


def kept_for_the_run(stages: Graph) -> list[tuple[str, str]]:
    """Return the (stage, node) whose arrays stay until the run is complete."""
    return [
        (stage.name, node.name)
        for stage in stages
        for layer in stage.layers
        if layer.keep is Keep.RUN
        for node in layer.nodes
    ]


def to_run(run: RunFolder, seen: Graph, graph: Graph) -> Graph:
    """Return the stages of a graph that are not committed, after those that they need again.

    Where all are committed nothing is needed, so a run that was killed while it deleted what it
    had kept does nothing again. Otherwise what was kept for the run may be gone, because the run
    was complete once: it gives the same arrays again.
    """
    missing = [stage for stage in graph if run.find(stage.name, COMMIT) is None]
    if not missing:
        return []
    by_name = {stage.name: stage for stage in seen}
    again = [
        by_name[name]
        for name in dict.fromkeys(
            name for name, node in kept_for_the_run(seen) if released(run, name, node)
        )
        if by_name[name] not in missing
    ]
    stages = [*again, *missing]
    for stage in stages:
        run.reopen(stage.name)
    return stages


def lost_chain(run: RunFolder, seen: Graph, graph: Graph) -> list[str]:
    """Return the stages of a chain to do again, the first one first; empty where none is lost.

    Where a commit was taken back (it was damaged, and its stage deleted), those before it have
    been released. How a chain went on from one to the next may have rested on other goals than
    there are now, so it begins again.
    """
    missing = next((stage for stage in graph if run.find(stage.name, COMMIT) is None), None)
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
