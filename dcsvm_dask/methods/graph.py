"""What a method says to the runtime: stages of nodes, each node a step with its arguments."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from dcsvm_dask.methods.loop import Loop
from dcsvm_dask.methods.node import Step
from dcsvm_dask.storage.node import Record

COMMIT = "commit"
STEP = "step"
"""The steps of a loop, where what a stage computes is laid out."""


class Keep(Enum):
    """How long arrays stay on disk."""

    STAGE = "until the stage is committed"
    RUN = "until the run is complete"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Node:
    """One call of a step, with an output of its own."""

    name: str
    """Unique in its stage; the name of its commit object."""
    step: Step
    """A module-level function, which knows no Dask."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of the step: small JSON values."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Nodes that may run side by side, after all of the layer before."""

    name: str
    """What the nodes do, as the dashboard shows it: cluster, assign, solve, ..."""
    nodes: tuple[Node, ...]
    keep: Keep = Keep.STAGE
    """How long the arrays of its nodes stay on disk; their records stay always."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Layers that end in a commit: a stage is committed or it does not exist."""

    name: str
    layers: tuple[Layer, ...]
    label: str
    """How task names begin: ``dcsvm_<label>_<layer>``."""
    supersedes: str | None = None
    """The stage whose committed arrays nobody needs once this one is committed."""
    loop: Loop | None = None
    """Steps in the memory of workers that go before the only node, which gets what they reach."""

    @property
    def working_layers(self) -> tuple[Layer, ...]:
        """What the stage computes, in turn: the shares of its loop, and its layers."""
        if self.loop is None:
            return self.layers
        parts = range(self.loop.shares)
        nodes = tuple(Node(f"{STEP}-{part:04d}", self.loop.program.load) for part in parts)
        return (Layer(STEP, nodes), *self.layers)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return sum(len(layer.nodes) for layer in self.layers)


Graph = list[Stage]
"""Stages that run one after the other, known before the first of them runs."""

Stages = Generator[Graph, dict[str, Record], "Outcome"]
"""What a method is while it runs: it yields graphs and receives the records of their stages."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a method ended."""

    stage: str
    """The stage whose commit holds the model."""
    converged: bool
    """Whether the model is the exact one, to the tolerance asked for."""
    message: str = ""
    """Why it is not, where there is more to say than that a limit was reached."""


def single(name: str, step: Step, *, keep: Keep = Keep.ALWAYS, **arguments: Any) -> Layer:
    """Return a layer of one node, which has the layer's name.

    Parameters
    ----------
    name : str
    step : Step
    keep : Keep, optional
    **arguments
        Keyword arguments of the step.
    """
    return Layer(name, (Node(name, step, arguments),), keep)


def many(
    name: str, step: Step, count: int, key: str, *, keep: Keep = Keep.STAGE, **arguments: Any
) -> Layer:
    """Return a layer of numbered nodes.

    Parameters
    ----------
    name : str
    step : Step
    count : int
        Number of nodes.
    key : str
        The argument of the step that has the number of the node.
    keep : Keep, optional
    **arguments
        Other keyword arguments of the step.
    """
    nodes = tuple(Node(f"{name}-{i:04d}", step, {**arguments, key: i}) for i in range(count))
    return Layer(name, nodes, keep)
