"""Stages as a Dask graph: one task a node, arrays stay in storage."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from dask._task_spec import Task, TaskRef
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from dcsvm_dask.graphs.graph import Graph, Node
from dcsvm_dask.steps.node import Step, run_node
from dcsvm_dask.storage.run import Record

TOPIC = "dcsvm"
Event = dict[str, Any]
"""What happened: a node was done (``stage``, ``layer``, ``node``, ``begin``, ``record``,
``worker``), or a worker was lost (``lost``: its address, ``tasks``: what it was doing)."""
Send = Callable[[Event], None]


def perform(
    run_url: str, stage: str, layer: str, node: str, step: Step, arguments: Record, *after: str
) -> str:
    """Run one node on whatever process this is, and tell who listens."""
    del after  # only their order matters
    if _before is not None:
        _before()
    begin = time.time()
    record = run_node(run_url, stage, node, step, arguments)
    if record["began"] < begin:  # it was committed before: nothing has happened that is new
        return node
    _send({"stage": stage, "layer": layer, "node": node, "begin": begin, "record": record})
    return node


def to_dask(
    run_url: str, digest: str, graph: Graph, threads: Mapping[str, int] | None = None
) -> tuple[HighLevelGraph, Hashable]:
    """Return a Dask graph of stages that run one after the other, and the key of its last task.

    Parameters
    ----------
    threads : mapping of str to int, optional
        The threads of every worker by its address, where few tasks are to be spread over them.
    """
    slots = slots_of(threads or {})
    # Two runs of equal data and settings may be under way on one scheduler.
    token = tokenize(run_url, digest)[:12]
    layers: dict[str, MaterializedLayer] = {}
    dependencies: dict[str, set[str]] = {}
    before: list[str] = []
    before_layer: str | None = None
    for order, stage in enumerate(graph):
        for layer in stage.layers:
            name = f"dcsvm_{stage.label}_{layer.name}-{token}-{stage.name}"
            keys = [_key(name, node) for node in layer.nodes]
            tasks = {
                key: Task(
                    key,
                    perform,
                    run_url,
                    stage.name,
                    layer.name,
                    node.name,
                    node.step,
                    node.arguments,
                    *map(TaskRef, before),
                )
                for key, node in zip(keys, layer.nodes, strict=True)
            }
            how = {"retries": 2, "priority": in_turn(keys, order), **spread(keys, slots)}
            layers[name] = MaterializedLayer(tasks, annotations=how)
            dependencies[name] = set() if before_layer is None else {before_layer}
            before, before_layer = keys, name
    return HighLevelGraph(layers, dependencies), before[-1]


def slots_of(threads: Mapping[str, int]) -> list[str]:
    """Return the address of a worker for each of its threads, every worker's first ones first."""
    rounds = range(max(threads.values(), default=0))
    return [worker for turn in rounds for worker in sorted(threads) if threads[worker] > turn]


def in_turn(keys: list[str], order: int) -> Callable[[str], float]:
    """Return Dask's priority of a layer's tasks: earlier stages first, then the order of the nodes.

    By itself Dask begins with any of them; the nodes of a layer come largest first.
    """
    place = {key: -(order + i / len(keys)) for i, key in enumerate(keys)}
    return place.__getitem__


def spread(keys: list[str], slots: list[str]) -> dict[str, Any]:
    """Return annotations that place few tasks on all workers in turn, and one always on the first.

    Dask spreads a layer by itself where it has more than two tasks for every thread. Fewer all go
    to the worker that did the task before them, though its result is nothing but a name; and a
    worker that is asked for rows again still has them. A place is a wish: idle workers may take
    the task.
    """
    if not slots or len(keys) > 2 * len(slots):
        return {}
    place = {key: [slots[i % len(slots)]] for i, key in enumerate(keys)}
    return {"workers": place.__getitem__, "allow_other_workers": True}


def _key(layer: str, node: Node) -> str:
    return f"{layer}-{node.name}"


_listener: Send | None = None
_before: Callable[[], None] | None = None


def listen(send: Send | None, before: Callable[[], None] | None = None) -> None:
    """Set who is told of nodes that run inside this process, and what is called before each."""
    global _listener, _before
    _listener, _before = send, before


def _send(event: Event) -> None:
    if _listener is not None:
        _listener(event)
        return
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:
        return
    worker.log_event(TOPIC, {**event, "worker": worker.address})
