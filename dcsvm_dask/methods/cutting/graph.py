"""The graph of cutting planes: rounds until the gap of every SVM is within the tolerance.

A round of rows in one part is a number of iterations that is fixed by the work; of several parts it
is one iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from dcsvm_dask.methods.cutting import parts as steps
from dcsvm_dask.methods.cutting import whole
from dcsvm_dask.methods.cutting.commit import commit_round
from dcsvm_dask.methods.cutting.options import Layout
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Keep, Layer, Node, Stage, Stages, many, single
from dcsvm_dask.methods.linear.rounds import rounds
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stall import Stall
from dcsvm_dask.storage.stage_id import StageId

PLANES = "planes"
# Iterations without any progress after which none is expected: some only change the planes.
MOST_STALLED = 20


def cutting_planes(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield rounds until the gap of every SVM is within the tolerance.

    Of rows in one part SVMs within it rest. Of several the rows are read for all of them, and nodes
    of a round are for all, whatever tolerance a run is gone on with.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    layout = Layout.of(settings, shape)
    in_memory = layout.parts == 1
    return (
        yield from rounds(
            goals,
            shape,
            partial(round_stage, layout, goals),
            Stall() if in_memory else Stall(MOST_STALLED),
            svms=layout.machines,
            rest=in_memory,
            constant=layout.constant,
        )
    )


def round_stage(
    layout: Layout, goals: Goals, number: int, previous: str | None, machines: Sequence[int]
) -> Stage:
    """Return the stage of one round.

    Parameters
    ----------
    layout : Layout
    goals : Goals
    number : int
        Number of the round, from 1.
    previous : str or None
        The stage of the round before; None: there are no planes.
    machines : sequence of int
        SVMs that are not yet within the tolerance.
    """
    name = StageId.numbered(PLANES, number)
    layers = (
        _in_memory(layout, goals, number, previous, machines)
        if layout.parts == 1
        else _in_parts(layout, name, previous, list(machines))
    )
    best = layout.changes["best"]
    commit = single(
        COMMIT,
        commit_round,
        stage=name,
        previous=previous,
        machines=list(machines),
        parts=layout.parts,
        best=best,
        reads=layout.reads,
        unit=layout.unit,
        tol=goals.tol,
    )
    return Stage(name, (*layers, commit), PLANES, supersedes=previous)


def _in_memory(
    layout: Layout, goals: Goals, number: int, previous: str | None, machines: Sequence[int]
) -> tuple[Layer, ...]:
    arguments: dict[str, Any] = {
        "machines": len(machines),
        "previous": previous,
        "constant": layout.constant,
        "changes": layout.changes,
        "unit": layout.unit,
        "tol": goals.tol,
        "most_iterations": layout.most_iterations(number),
    }
    nodes = (
        Node(whole.name_of(machine), whole.iterate, {"machine": machine, **arguments})
        for machine in machines
    )
    return (Layer(whole.ITERATE, tuple(nodes), Keep.STAGE),)


def _in_parts(
    layout: Layout, stage: str, previous: str | None, machines: list[int]
) -> tuple[Layer, ...]:
    best, line_search, share = (layout.changes[key] for key in ("best", "line_search", "share"))
    at: dict[str, Any] = {"stage": stage, "machines": machines, "parts": layout.parts}
    of_part = {**at, "constant": layout.constant}

    def layer(name: str, step: Any, **others: Any) -> Layer:
        return many(name, step, layout.parts, "part", **of_part, **others)

    def between(name: str, step: Any, **others: Any) -> Layer:
        return single(name, step, keep=Keep.STAGE, **at, **others)

    begin = {"previous": previous, "machines": machines}
    layers = [single(steps.REDUCE, steps.reduce, keep=Keep.STAGE, **begin)]
    if best:
        layers.append(layer(steps.OUTPUT, steps.output, histogram=line_search))
    if line_search:
        layers += [between(steps.NARROW, steps.narrow), layer(steps.SLOPES, steps.slopes)]
    if best:
        how = {"previous": previous, "line_search": line_search}
        layers.append(between(steps.SEARCH, steps.search, **how))
    return (*layers, layer(steps.CUT, steps.cut, best=best, share=share))
