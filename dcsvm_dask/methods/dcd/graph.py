"""The graph of dual coordinate descent: rounds until all SVMs are within the tolerance.

A round is a number of passes that is fixed by the work, and ends in a commit. Where the rows are
in several parts each descends for itself from the same w, and their steps are joined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from dcsvm_dask.methods.dcd import free_bias, points
from dcsvm_dask.methods.dcd import nodes as steps
from dcsvm_dask.methods.dcd.classes import commit_classes
from dcsvm_dask.methods.dcd.options import FREE, Descent
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Keep, Layer, Node, Stage, Stages, single
from dcsvm_dask.methods.linear.options import number_of_svms
from dcsvm_dask.methods.linear.rounds import rounds
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stall import Stall
from dcsvm_dask.storage.stage_id import StageId

DESCENT = "descent"
# Bytes of the rows of a part; joining parts takes rounds that fewer rows are not worth.
PART_BYTES, MOST_PARTS = 40 << 20, 16
# Work of the first round of rows in one part, and of the largest one: values that are met. A visit
# costs some more, and far more where rows are read again for each pass.
FIRST_WORK, MOST_WORK, VISIT, READ_AGAIN = 2e8, 3e10, 20, 16
# Passes over a chunk while it is in memory.
INNER_PASSES = 3
# Passes of a round over each of several parts; work of its last step that a commit is worth.
PASSES_OF_PART, LEAST_WORK = 10, 2e8
# Times the tolerance at which a part's own problem is solved.
WITHIN = 0.1


@dataclass(frozen=True, slots=True)
class Layout:
    """How the work of a run is shared; it depends on the data and the settings alone."""

    machines: int
    """SVMs."""
    parts: int
    """Parts of the rows that descend side by side."""
    chunks: int
    """Pieces in which a task reads the rows of its part."""
    constant: float
    """The constant feature; 0: there is no bias."""
    rows: float
    """Rows of a part."""
    row_work: float
    """Work of visiting a row."""
    order: str
    """Order of the rows in a pass."""
    shrinking: bool
    """Whether rows that stay at a bound rest."""
    classes: int = 0
    """Classes of the one problem of all classes; 0: each SVM has a problem of its own."""
    is_free: bool = False
    """Whether the bias is free; the constant is then the square root of its step."""

    @classmethod
    def of(cls, settings: Settings, shape: Shape) -> Layout:
        """Return the layout of a run."""
        options, n = Descent(**settings.options), shape.n_variables
        machines = number_of_svms(settings, shape)
        classes = machines if options.is_joint else 0
        # SVMs run side by side, too.
        wanted = min(MOST_PARTS, shape.n_bytes // PART_BYTES) // machines
        parts = 1 if classes else min(n, max(1, options.parts or wanted))
        chunks = min(max(1, options.chunks), max(1, n // parts))
        values = shape.n_bytes / (4.0 * max(1, shape.n_rows))
        work = VISIT + values * (READ_AGAIN if chunks > 1 else 1)
        return cls(
            machines=1 if classes else machines,
            parts=parts,
            chunks=chunks,
            constant=options.feature if settings.fit_intercept else 0.0,
            rows=n / parts,
            row_work=work * max(1, classes),
            order=options.order,
            shrinking=options.shrinking,
            classes=classes,
            is_free=options.bias == FREE and settings.fit_intercept,
        )

    @property
    def most_passes(self) -> int | None:
        """Passes of a round over one of several parts; None: `most_visits` ends a round.

        More would lead each part astray, since it takes the others to stay as they are.
        """
        if self.parts == 1:
            return None
        return PASSES_OF_PART if self.chunks == 1 else math.ceil(PASSES_OF_PART / INNER_PASSES)

    def most_visits(self, number: int) -> int:
        """Return how many rows a round visits where they are one part, about."""
        work = min(FIRST_WORK * float(1 << min(number - 1, 64)), MOST_WORK)
        # No round is shorter than a pass; the first ones double, too.
        return max(round(work / self.row_work), round(self.rows * min(number, 4)))

    def rounds_of(self, visits: float) -> int:
        """Return how many rounds visit so many rows where they are one part, about."""
        made, rounds = 0.0, 0
        while made < visits:
            rounds += 1
            made += self.most_visits(rounds)
        return max(1, rounds)


def dcd(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield rounds until the violation of every SVM is within the tolerance.

    SVMs that are within it rest.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    layout = Layout.of(settings, shape)
    return (
        yield from rounds(
            goals,
            shape,
            partial(round_stage, layout, goals),
            Stall(),
            svms=layout.machines,
            rest=True,
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
        The stage of the round before; None: all variables are 0.
    machines : sequence of int
        SVMs that are not yet within the tolerance.
    """
    name, parts = StageId.numbered(DESCENT, number), layout.parts
    if layout.classes:
        joint = single(
            COMMIT,
            commit_classes,
            number=number,
            previous=previous,
            constant=layout.constant,
            tol=goals.tol,
            most_visits=layout.most_visits(number),
        )
        return Stage(name, (joint,), DESCENT, supersedes=previous)
    if layout.is_free:
        return free_stage(layout, goals, number, previous, machines)
    how: dict[str, Any] = {"parts": parts, "chunks": layout.chunks, "constant": layout.constant}
    at: dict[str, Any] = {"previous": previous, **how}
    solve = {
        "number": number,
        "tol": goals.tol * (WITHIN if parts > 1 else 1.0),
        **at,
    }
    visits = {"order": layout.order, "shrinking": layout.shrinking}
    ends = {**visits, "most_visits": layout.most_visits(number), "most_passes": layout.most_passes}
    places = [{"machine": machine, "part": part} for machine in machines for part in range(parts)]
    layers = [_layer(points.DESCEND, steps.descend, places, {**solve, **ends})]
    if parts > 1:
        joined = [{"machine": machine} for machine in machines]
        join = {**solve, "stage": name, "most_visits": round(LEAST_WORK / layout.row_work)}
        del join["chunks"]
        layers.append(_layer(points.JOIN, steps.join_steps, joined, join))
        layers.append(_layer(points.MEASURE, steps.measure, places, {"stage": name, **at}))
    commit = single(
        COMMIT,
        steps.commit_round,
        stage=name,
        previous=previous,
        machines=list(machines),
        parts=parts,
        tol=goals.tol,
    )
    return Stage(name, (*layers, commit), DESCENT, supersedes=previous)


def free_stage(
    layout: Layout, goals: Goals, number: int, previous: str | None, machines: Sequence[int]
) -> Stage:
    """Return the stage of a round where the bias is free; see `round_stage`."""
    name, parts, constant = StageId.numbered(DESCENT, number), layout.parts, layout.constant
    visits = {"order": layout.order, "shrinking": layout.shrinking}
    start: dict[str, Any] = {"number": number, "previous": previous, "constant": constant}
    most = layout.most_visits(number)
    each = [{"machine": machine} for machine in machines]
    if parts == 1:
        alone = {**start, "chunks": layout.chunks, "tol": goals.tol, **visits, "most_visits": most}
        layers = [_layer(points.DESCEND, free_bias.descend_alone, each, alone, named={"part": 0})]
    else:
        places = [{**at, "part": part} for at in each for part in range(parts)]
        how = {"parts": parts, "chunks": layout.chunks}
        within = {**start, "tol": goals.tol * WITHIN}
        ends = {**visits, "most_visits": most, "most_passes": layout.most_passes}
        join = {"stage": name, "parts": parts, "most_visits": round(LEAST_WORK / layout.row_work)}
        at_end = {"stage": name, **how, "constant": constant}
        layers = [
            _layer(points.DESCEND, steps.descend, places, {**within, **how, **ends}),
            _layer(points.JOIN, free_bias.join_free, each, {**within, **join}),
            _layer(points.MEASURE, free_bias.sum_rows, places, at_end),
            _layer(points.SLOPES, free_bias.measure_slopes, places, at_end),
        ]
    commit = single(
        COMMIT,
        free_bias.commit_free,
        stage=name,
        previous=previous,
        machines=list(machines),
        parts=parts,
        constant=constant,
        tol=goals.tol,
    )
    return Stage(name, (*layers, commit), DESCENT, supersedes=previous)


def _layer(
    name: str,
    step: Any,
    places: Sequence[dict[str, int]],
    arguments: dict[str, Any],
    named: Mapping[str, int] = MappingProxyType({}),
) -> Layer:
    """Return the layer of a step that is done for each of some SVMs and parts."""
    nodes = (Node(points.name_of(name, **at, **named), step, {**arguments, **at}) for at in places)
    return Layer(name, tuple(nodes), Keep.STAGE)
