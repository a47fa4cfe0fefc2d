"""Running a method: stages that are not committed run, committed ones return their records."""

from __future__ import annotations

from collections.abc import Callable

from dcsvm_dask.errors import OutOfTimeError, RunError
from dcsvm_dask.methods.graph import COMMIT, Graph, Keep, Outcome, Stage, Stages
from dcsvm_dask.runtime.announcer import Message, graph_message
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.storage.lock import HEARTBEAT_SECONDS
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

# Number of superseded stages from which on their records are moved together.
MOST_SUPERSEDED = 16


def carry(
    run: RunFolder,
    begin: Callable[[], Stages],
    executor: Executor,
    check: Callable[[], None] = lambda: None,
    learn: Callable[[dict[str, Record]], None] = lambda _: None,
) -> Outcome | None:
    """Run a method to its end.

    Committed stages are not run again.

    Parameters
    ----------
    run : RunFolder
        Owned by this process.
    begin : callable
        Returns the method; called again if a chain of stages has to begin again.
    executor : Executor
    check : callable
        Called often while stages run; raises where they must stop, because the time budget is used
        up or the run is owned by another process.
    learn : callable
        Called with the records of each committed graph.

    Returns
    -------
    Outcome or None
        None if the time budget ended the method.
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
                executor.report(announced(run, missing, graph))
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
                executor.report({"kind": "graph_done", "commits": records})
            else:
                executor.report(graph_message(graph, records, {}))
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
    """Return the message that announces a graph, with its committed stages and nodes.

    Parameters
    ----------
    run : RunFolder
    missing : Graph
        Stages that have to run.
    graph : Graph
        Stages that the method asked for.

    Returns
    -------
    dict
    """
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
    """Delete the objects of a committed stage that are no longer needed."""
    kept = {
        node.name for layer in stage.layers if layer.keep is not Keep.STAGE for node in layer.nodes
    }
    run.settle(stage.name, kept)
    if stage.supersedes is not None:
        run.release(stage.supersedes, COMMIT)


def keeps(stage: Stage, *kept: Keep) -> bool:
    """Return whether arrays of a stage, besides the commit's, have one of some lifetimes."""
    nodes = (node for layer in stage.layers if layer.keep in kept for node in layer.nodes)
    return any(node.name != COMMIT for node in nodes)


def kept_for_the_run(stages: Graph) -> dict[str, list[str]]:
    """Return the nodes whose arrays are kept until the run is complete, by stage."""
    kept: dict[str, list[str]] = {}
    for stage in stages:
        for layer in stage.layers:
            if layer.keep is Keep.RUN:
                kept.setdefault(stage.name, []).extend(node.name for node in layer.nodes)
    return kept


def to_run(run: RunFolder, seen: Graph, missing: Graph) -> Graph:
    """Return the stages of a graph that must run, after earlier ones whose arrays they need again.

    Where all are committed none is needed, so a run that was killed while it deleted arrays runs
    nothing again. Otherwise arrays that were kept for the run may be gone, because the run was
    complete before: these stages run again and give the same arrays.

    Parameters
    ----------
    run : RunFolder
    seen : Graph
        All stages so far.
    missing : Graph
        Stages of the graph that are not committed.

    Returns
    -------
    list of Stage
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
    """Return the stages of a chain that must run again, in order; empty where none is lost.

    Where a damaged commit was deleted, the stages before it have been released. How the chain
    continued from one to the next may have depended on other goals, so the whole chain runs again.

    Parameters
    ----------
    run : RunFolder
    seen : Graph
        All stages so far.
    absent : Graph
        Stages of the present graph that are not committed.

    Returns
    -------
    list of str
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
    """Return whether a node's arrays were released.

    Parameters
    ----------
    run : RunFolder
    stage, node : str
    absent : bool, default False
        Result for a node that does not exist.

    Returns
    -------
    bool
    """
    found = run.find(stage, node)
    return absent if found is None else found.released


def committed(run: RunFolder, graph: Graph) -> dict[str, Record]:
    """Return the records of a graph's stages, with ``released``: whether the arrays are deleted."""
    records = {}
    for stage in graph:
        found = run.find(stage.name, COMMIT)
        if found is None:
            raise RunError(f"{run.place}: stage {stage.name} ended without its commit")
        records[stage.name] = {**found.record, "released": found.released}
    return records
