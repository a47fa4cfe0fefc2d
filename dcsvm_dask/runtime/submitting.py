"""Stages as a Dask graph: one task for each node; arrays stay in storage."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from dask._task_spec import Task, TaskRef
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from dcsvm_dask.errors import InfeasibleError
from dcsvm_dask.methods.graph import Graph, Node
from dcsvm_dask.runtime.tasks import RETRIES, perform, refusal
from dcsvm_dask.storage.claims import Ownership


def to_dask(
    run_url: str, digest: str, graph: Graph, owner: Ownership | None = None
) -> tuple[HighLevelGraph, Hashable]:
    """Return a Dask graph of stages that run one after the other, and the key of its last task.

    Parameters
    ----------
    run_url : str
    digest : str
        Hash of the run's header, which makes keys of tasks unique.
    graph : Graph
    owner : Ownership, optional
        The owner of the run.

    Returns
    -------
    graph : HighLevelGraph
    last : Hashable
    """
    # Two runs of equal data and settings may share a scheduler, and tasks of a former owner of the
    # run may still run beside those of the present one.
    token = tokenize(run_url, digest, None if owner is None else owner.name)[:12]
    layers: dict[str, MaterializedLayer] = {}
    dependencies: dict[str, set[str]] = {}
    before: list[tuple[str, str]] = []
    before_layer: str | None = None
    for stage in graph:
        for layer in stage.layers:
            name = f"dcsvm_{stage.label}_{layer.name}-{token}-{stage.name}"
            keys = [_key(name, node) for node in layer.nodes]
            if before_layer is not None and len(before) > 1 and len(keys) > 1:
                # Wide layers meet in one task: edges are as many as nodes, not as their product.
                group, _, suffix = name.partition("-")
                meeting = f"{group}_after-{suffix}"
                key = (meeting, "all")
                layers[meeting] = MaterializedLayer(
                    {key: Task(key, nothing, *map(TaskRef, before))}
                )
                dependencies[meeting] = {before_layer}
                before, before_layer = [key], meeting
            tasks = {
                key: Task(
                    key,
                    perform,
                    run_url,
                    owner,
                    stage.name,
                    layer.name,
                    node.name,
                    node.step,
                    node.arguments,
                    *map(TaskRef, before),
                )
                for key, node in zip(keys, layer.nodes, strict=True)
            }
            # No preferred worker (``workers`` with ``allow_other_workers``) is set: a task whose
            # worker dies while there is no other is never run again, even by a new one.
            layers[name] = MaterializedLayer(tasks)
            dependencies[name] = set() if before_layer is None else {before_layer}
            before, before_layer = keys, name
    return HighLevelGraph(layers, dependencies), before[-1]


def nothing(*after: str | InfeasibleError) -> InfeasibleError | None:
    """Return what `refusal` finds; the task waits for others."""
    return refusal(*after)


def submit(client: Any, graph: HighLevelGraph, last: Hashable) -> Any:
    """Submit a graph and return the future of its last task.

    The caller's annotations (`dask.annotate`: priority, workers, resources, retries, a span) are
    applied to all tasks. On a shared scheduler, tasks of one priority begin in the order of their
    graphs, and those of a graph in the order of `in_turn`. Given as priorities, that order would
    put them before or behind the tasks of all others.

    Parameters
    ----------
    client : distributed.Client
    graph : HighLevelGraph
    last : Hashable
        Key of the last task.

    Returns
    -------
    distributed.Future
    """
    return submit_keys(client, graph, {last}, in_turn(graph))[last]


def submit_keys(
    client: Any, graph: HighLevelGraph, keys: set[Any], turns: dict[Any, int]
) -> dict[Any, Any]:
    """Submit a graph and return the futures of some of its tasks, by their keys.

    Parameters
    ----------
    client : distributed.Client
    graph : HighLevelGraph
        Its tasks may refer to those of other graphs whose futures are held.
    keys : set
    turns : dict
        The order in which tasks begin.
    """
    import dask
    from dask._expr import HLGExpr
    from distributed.spans import SpanMetadata

    futures: dict[Any, Any] = client._graph_to_futures(
        expr=HLGExpr(dsk=graph),
        keys=keys,
        span_metadata=SpanMetadata(collections=[{"type": "low-level-graph"}]),
        internal_priority=turns,
        retries=None if "retries" in dask.get_annotations() else RETRIES,
        fifo_timeout="60s",
    )
    return futures


def in_turn(graph: HighLevelGraph) -> dict[Hashable, int]:
    """Return the order in which tasks begin: earlier stages first, then the order of the nodes.

    Without it Dask begins with any task of a layer; the nodes of a layer are sorted by size.
    """
    keys = (key for layer in graph.layers.values() for key in layer)
    return {key: place for place, key in enumerate(keys)}


def _key(layer: str, node: Node) -> tuple[str, str]:
    # Keys that are pairs make each layer a group on the scheduler, in spans and on its pages; with
    # keys that are text the layers of all runs would be one group.
    return layer, node.name
