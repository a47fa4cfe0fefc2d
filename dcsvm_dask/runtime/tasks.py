"""Stages as a Dask graph: one task a node, arrays stay in storage."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from dask._task_spec import Task, TaskRef
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from dcsvm_dask.errors import DcsvmError, OutOfTimeError, OwnershipLostError
from dcsvm_dask.methods.graph import Graph, Node
from dcsvm_dask.methods.node import Step, run_node
from dcsvm_dask.methods.progress import telling
from dcsvm_dask.runtime.failures import step_failed
from dcsvm_dask.runtime.topic import log_event
from dcsvm_dask.storage.lock import Ownership
from dcsvm_dask.storage.node import Record

HERE = "in-process"
RETRIES = 2
"""How often a step that failed is done again."""
Send = Callable[[dict[str, Any]], None]
"""Takes a message; see `dcsvm_dask.runtime.announcer`."""


def perform(
    run_url: str,
    owner: Ownership | None,
    stage: str,
    layer: str,
    node: str,
    step: Step,
    arguments: Record,
    *after: str,
) -> str:
    """Run one node on whatever process this is, for the owner of the run, and report on it."""
    about = {"run": run_url, "stage": stage, "node": node}

    def tell(facts: Record) -> None:
        _send({**about, **facts})

    del after  # only their order matters
    here = _here.get()
    if here is not None and here.before is not None:
        here.before()
    begin = time.time()
    for left in reversed(range(1 if here is None else 1 + RETRIES)):
        try:
            with telling(tell):
                record = run_node(run_url, stage, node, step, arguments, owner)
            break
        except (OwnershipLostError, OutOfTimeError):  # which no other try would mend
            raise
        except DcsvmError as error:
            _send({**about, "kind": "failed", "error": str(error)})
            if not left:
                raise
        except Exception as error:
            _send({**about, "kind": "failed", "error": f"{type(error).__name__}: {error}"})
            if not left:
                raise step_failed(run_url, stage, node, error) from error
    if record["began"] < begin:  # it was committed before: nothing has happened that is new
        return node
    _send({**about, "kind": "task", "layer": layer, "record": record})
    return node


def to_dask(
    run_url: str, digest: str, graph: Graph, owner: Ownership | None = None
) -> tuple[HighLevelGraph, Hashable]:
    """Return a Dask graph of stages that run one after the other, and the key of its last task."""
    # Two runs of equal data and settings may be under way on one scheduler, and tasks of an owner
    # that has lost the run beside those of the next one.
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
                group, _, rest = name.partition("-")
                meeting = f"{group}_after-{rest}"
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
            # No wish for a worker (``workers`` with ``allow_other_workers``) is added: a task whose
            # worker dies when no other is there is never run again, even by a new one.
            layers[name] = MaterializedLayer(tasks)
            dependencies[name] = set() if before_layer is None else {before_layer}
            before, before_layer = keys, name
    return HighLevelGraph(layers, dependencies), before[-1]


def nothing(*after: str) -> None:
    """Do nothing, after others."""


def submit(client: Any, graph: HighLevelGraph, last: Hashable) -> Any:
    """Submit a graph and return the future of its last task.

    What the caller of this process annotates (`dask.annotate`: priority, workers, resources,
    retries, a span) is applied to all of its tasks. On a shared scheduler they rank with everybody
    else's: Dask begins the tasks of one priority in the order of their graphs, and those of a graph
    by `in_turn`. As priorities, the same would put them before or behind all others.
    """
    import dask
    from dask._expr import HLGExpr
    from distributed.spans import SpanMetadata

    return client._graph_to_futures(
        expr=HLGExpr(dsk=graph),
        keys={last},
        span_metadata=SpanMetadata(collections=[{"type": "low-level-graph"}]),
        internal_priority=in_turn(graph),
        retries=None if "retries" in dask.get_annotations() else RETRIES,
        fifo_timeout="60s",
    )[last]


def in_turn(graph: HighLevelGraph) -> dict[Hashable, int]:
    """Return the order in which tasks begin: earlier stages first, then the order of the nodes.

    By itself Dask begins with any task of a layer; the nodes of a layer come largest first.
    """
    keys = (key for layer in graph.layers.values() for key in layer)
    return {key: place for place, key in enumerate(keys)}


def _key(layer: str, node: Node) -> tuple[str, str]:
    # The pair makes a group of the scheduler of each layer, as spans and its pages have them; with
    # names that are text the layers of all runs would be one.
    return layer, node.name


@dataclass(frozen=True, slots=True)
class _Here:
    """Who listens to nodes that run inside this process."""

    send: Send
    before: Callable[[], None] | None


# Threads may train at a time, each a run of its own.
_here: ContextVar[_Here | None] = ContextVar("here", default=None)


def listen(send: Send | None, before: Callable[[], None] | None = None) -> None:
    """Set who is told of nodes that run in this thread, and what is called before each.

    While somebody listens there is no scheduler that does again what failed, so that is done here.
    """
    _here.set(None if send is None else _Here(send, before))


def _send(message: dict[str, Any]) -> None:
    here = _here.get()
    if here is not None:
        here.send({**message, "worker": HERE})
        return
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:
        return
    log_event(worker, {**message, "time": time.time(), "worker": worker.address})
