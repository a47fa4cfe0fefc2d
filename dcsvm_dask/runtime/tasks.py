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
from dcsvm_dask.graphs.graph import Graph, Node
from dcsvm_dask.runtime.failures import step_failed
from dcsvm_dask.runtime.topic import log_event
from dcsvm_dask.steps.node import Step, run_node
from dcsvm_dask.steps.telling import telling
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
    before: list[str] = []
    before_layer: str | None = None
    for order, stage in enumerate(graph):
        for layer in stage.layers:
            name = f"dcsvm_{stage.label}_{layer.name}-{token}-{stage.name}"
            keys = [_key(name, node) for node in layer.nodes]
            if before_layer is not None and len(before) > 1 and len(keys) > 1:
                # Wide layers meet in one task: edges are as many as nodes, not as their product.
                group, _, rest = name.partition("-")
                meet = f"{group}_after-{rest}"
                how = {"retries": RETRIES, "priority": in_turn([meet], order)}
                one = {meet: Task(meet, nothing, *map(TaskRef, before))}
                layers[meet] = MaterializedLayer(one, annotations=how)
                dependencies[meet] = {before_layer}
                before, before_layer = [meet], meet
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
            # No wish for a worker (``workers`` with ``allow_other_workers``) is among them: a task
            # whose worker dies when no other is there is never run again, even by a new one.
            how = {"retries": RETRIES, "priority": in_turn(keys, order)}
            layers[name] = MaterializedLayer(tasks, annotations=how)
            dependencies[name] = set() if before_layer is None else {before_layer}
            before, before_layer = keys, name
    return HighLevelGraph(layers, dependencies), before[-1]


def nothing(*after: str) -> None:
    """Do nothing, after others."""


def in_turn(keys: list[str], order: int) -> Callable[[str], float]:
    """Return Dask's priority of a layer's tasks: earlier stages first, then the order of the nodes.

    By itself Dask begins with any of them; the nodes of a layer come largest first.
    """
    place = {key: -(order + i / len(keys)) for i, key in enumerate(keys)}
    return place.__getitem__


def _key(layer: str, node: Node) -> str:
    return f"{layer}-{node.name}"


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
