"""Several SVMs: one tree of levels for all of them, then each on all of its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcsvm_dask.methods import multipliers
from dcsvm_dask.methods.dcsvm.classes import machines as steps
from dcsvm_dask.methods.dcsvm.classes.together import tasks_of_svms
from dcsvm_dask.methods.dcsvm.estimate import ESTIMATE_ROWS
from dcsvm_dask.methods.dcsvm.plan import level_plans
from dcsvm_dask.methods.dcsvm.stages import arrange_stage, bottom_stage, level_stage, scored_level
from dcsvm_dask.methods.forecast import Forecast, Need, largest
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Layer, Node, Outcome, Stage, Stages, single
from dcsvm_dask.methods.load import Load
from dcsvm_dask.methods.machines import AnyMachine, machines_for, scheme_of_run
from dcsvm_dask.methods.measured import Measured
from dcsvm_dask.methods.offset import LEAST_OF_CLASS, SUBSET
from dcsvm_dask.methods.probe import PROBE_CLUSTERS
from dcsvm_dask.methods.problem import ARRANGE, OFFSET, PROBE
from dcsvm_dask.methods.regime import is_sparse_in_support
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan, offset_plan
from dcsvm_dask.methods.stages import merge_stage, probe_stage, scored
from dcsvm_dask.solvers import Output
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.storage.stage_id import MODEL, StageId

# Kernel values of an SVM, for its rows times its support vectors.
WORK = 2.0
SVM_SECONDS, TAKEN_SECONDS = 0.6e-3, 4e-9
"""Seconds of a core for an SVM of a block beside its values, and for a value that it takes from the
matrix of the block and solves with."""
SMALLEST_SECONDS = 0.4e-3
"""Seconds of a core for an SVM of a few rows of its own."""


def classes(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield the graphs of a run of more than two classes, or of several quantiles.

    Rows of all SVMs are clustered together, once for all SVMs. For the exact model each SVM is
    solved on all of its rows, warm from the last level where levels are expected to save time.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    levels = len(settings.clusters)
    source: str | None = None
    if settings.make_task().has_sum:
        yield [multipliers_stage()]
    if levels and goals.stop_at >= levels:
        yield [
            arrange_stage(settings, shape),
            *scored_level(bottom_stage(settings, shape), goals, shape),
        ]
        return Outcome(StageId.level(levels), converged=False)
    local = False
    if levels or is_probed(settings, shape):
        local = promises(Measured.of((yield [probe_stage()])[PROBE]))
    if levels and (local or settings.levels_forced or goals.stop_at or goals.early):
        yield [arrange_stage(settings, shape)]
        source = StageId.level(levels)
        bottom = (yield scored_level(bottom_stage(settings, shape), goals, shape))[source]
        pays = settings.levels_forced or (local and bottom["levels_pay"])
        upper = range(levels - 1, max(goals.stop_at, 1) - 1, -1) if pays else ()
        if upper:
            yield [
                stage
                for number in upper
                for stage in scored_level(level_stage(settings, shape, number), goals, shape)
            ]
            source = StageId.level(upper[-1])
        if goals.stop_at:
            return Outcome(source, converged=False)
        # SVMs of clusters that contradict each other are a worse start than none.
        source = source if pays else None
    elif (yield [merge_stage()])[ARRANGE]["parts"]:
        # A run that was to stop at a level has rows in block order already.
        yield [arrange_stage(settings, shape)]
    number = 1
    while True:
        stage = machines_stage(settings, goals, shape, source, number)
        record = (yield scored(stage, shape))[stage.name]
        if record["tol"] <= goals.tol:
            return Outcome(stage.name, record["converged"])
        # They are solved to the tolerance that the run had before: it goes on from there.
        source, number = stage.name, number + 1


def multipliers_stage() -> Stage:
    """Return the stage that estimates the multipliers with which the SVMs of levels begin."""
    return Stage(OFFSET, (single(COMMIT, multipliers.estimate_multipliers),), OFFSET)


def promises(measured: Measured) -> bool:
    """Whether levels promise to pay: blocks know most of the answer, and it has many vectors."""
    return not (measured.smooth or is_sparse_in_support(measured.support_share))


def is_probed(settings: Settings, shape: Shape) -> bool:
    """Whether it is worth while to look at some rows first, so that the plan tells the time."""
    return shape.n_variables > settings.set_cap


def machines_stage(
    settings: Settings, goals: Goals, shape: Shape, source: str | None, number: int = 1
) -> Stage:
    """Return the stage that solves all SVMs on all of their rows, those of most rows first.

    A task solves one, or several of few rows.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    source : str or None
        The level, or the stage like this one, whose coefficients are the warm start; None: zero.
    number : int, default 1
        From 2 on, for tolerances that were made smaller.
    """
    found = machines_for(settings, len(shape.class_rows))
    rows = [rows_of(one, shape) for one in found]
    nodes = tuple(
        Node(
            steps.node_of(found[numbers[0]]),
            steps.solve_machines_of,
            {"numbers": numbers, "source": source, "tol": goals.tol},
        )
        for numbers in tasks_of_svms(rows)
    )
    kind = steps.NAMES[scheme_of_run(settings, len(shape.class_rows)).name]
    name = StageId.about(MODEL, kind if number == 1 else StageId.numbered(kind, number))
    solved = [node.name for node in nodes]
    commit = single(COMMIT, steps.commit_machines, stage=name, nodes=solved, tol=goals.tol)
    return Stage(name, (Layer(steps.SOLVE, nodes), commit), kind)


def rows_of(machine: AnyMachine, shape: Shape) -> int:
    """Return how many rows an SVM has, repeated ones counted."""
    if isinstance(machine, Output) or machine.negative is None:
        return shape.n_rows
    return shape.class_rows[machine.positive] + shape.class_rows[machine.negative]


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take."""
    settings, shape = sizes.settings, sizes.shape
    first = []
    if settings.make_task().has_sum:
        rows = SUBSET + LEAST_OF_CLASS * len(shape.class_rows)
        first = [offset_plan(sizes, multipliers_stage(), rows)]
    return first + _plan(sizes, goals)


def _plan(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages after the one that estimates multipliers."""
    settings, shape = sizes.settings, sizes.shape
    stages = []
    climbs = settings.clusters and (
        promises(sizes.measured) or settings.levels_forced or goals.stop_at
    )
    if climbs:
        levels = len(settings.clusters)
        stages = [
            _of_classes(plan, sizes, settings.clusters[levels - StageId(plan.stage.name).height])
            if StageId(plan.stage.name).is_level
            else plan
            for plan in level_plans(sizes, goals)
        ]
        if goals.stop_at:
            return stages
    else:
        if settings.clusters or is_probed(settings, shape):
            stages = [StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0)]
        stages.append(merging_plan(sizes))
    machines = machines_for(settings, len(shape.class_rows))
    rows = [min(rows_of(machine, shape), shape.n_variables) for machine in machines]
    share = min(sizes.support / max(1, sizes.n), sizes.measured.support_share)
    # Classes are taken to have repeated rows alike.
    distinct = shape.n_variables / max(1, shape.n_rows)
    together = sum((distinct * rows_of(machine, shape)) ** 2 for machine in machines)
    height = scheme_of_run(settings, len(shape.class_rows)).n_coefficients
    written = sizes.support * (sizes.row + 8 * height) + 8.0 * len(machines)
    stage = machines_stage(settings, goals, shape, None)
    solve = largest(*(_solving(sizes, many) for many in set(rows)))
    commit = sizes.fixed(_committing(sizes, height))
    squares = np.array([rows_of(machine, shape) for machine in machines], float) ** 2
    own = SMALLEST_SECONDS * len(machines)
    most = max(squares[node.arguments["numbers"]].sum() for node in stage.layers[0].nodes)
    largest_task = float(distinct**2 * most / together)
    solving = Load(steps.SOLVE, core_seconds=own, largest=largest_task)
    made = StagePlan(
        stage,
        largest(solve, commit),
        WORK * share * together,
        written,
        core_seconds=own,
        alike=solve.n_bytes >= commit.n_bytes,
        loads=(solving,),
    )
    return [*stages, made if solve.most >= commit.most else replace(made, remedy=None)]


def _solving(sizes: Forecast, rows: int) -> Need:
    """Return the need of solving an SVM of some rows; of few the kernel matrix is in float64."""
    need = replace(sizes, shape=replace(sizes.shape, n_variables=rows)).working_set()
    more = 4 * rows**2 if rows <= SMALL else 0
    return Need(need.n_bytes + more, need.most + more)


def _committing(sizes: Forecast, height: int) -> float:
    """Return the bytes of all SVMs' coefficients: of variables, of rows, of the model.

    Without classes there are the predictions of the variables, too.
    """
    predicted = 0 if sizes.shape.class_rows else 2 * sizes.n
    return 8.0 * height * (sizes.n + predicted + 2 * sizes.shape.n_rows + sizes.support)


def _of_classes(plan: StagePlan, sizes: Forecast, clusters: int) -> StagePlan:
    """Return what a level's stage takes with all of its SVMs, and with their coefficients."""
    settings, shape = sizes.settings, sizes.shape
    height = scheme_of_run(settings, len(shape.class_rows)).n_coefficients
    coefficients = int(8 * height * sizes.support)
    beside = 2 * coefficients + int(sizes.support * sizes.row)
    block = min(sizes.n, settings.block_cap)
    # An SVM's part of its block's matrix is a copy.
    need = Need(plan.need.n_bytes + beside, plan.need.most + beside + 4 * block**2)
    far = 1.0 - sizes.near_share(sizes.n)
    added = {
        steps.SOLVE: ("core_seconds", _solving_seconds(sizes, clusters)),
        # Of several SVMs no far pairs are left out of the estimates.
        COMMIT: ("kernel_values", far * min(sizes.n, ESTIMATE_ROWS) * sizes.support),
    }
    loads = []
    for load in plan.loads:
        name, more = added.get(load.layer, ("core_seconds", 0.0))
        loads.append(replace(load, **{name: getattr(load, name) + more}))
    return replace(
        plan,
        need=need,
        written_bytes=plan.written_bytes + 2.0 * coefficients,
        kernel_values=sum(load.kernel_values for load in loads),
        core_seconds=sum(load.core_seconds for load in loads),
        loads=tuple(loads),
    )


def _solving_seconds(sizes: Forecast, clusters: int) -> float:
    """Return the time of a core for the SVMs of a level beside their kernel values.

    Kernel values of a block are computed once; each SVM takes its part of them, and solves that.
    """
    settings, shape = sizes.settings, sizes.shape
    machines, mean = machines_for(settings, len(shape.class_rows)), sizes.n / clusters
    each = sum((rows_of(one, shape) / max(1, shape.n_rows)) ** 2 for one in machines)
    values = each * sizes.n * mean if mean <= settings.block_cap else 0.0
    return SVM_SECONDS * len(machines) * clusters + TAKEN_SECONDS * values
