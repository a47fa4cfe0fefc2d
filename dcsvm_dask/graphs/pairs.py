"""Many classes: LIBSVM's one against one, a task for each pair."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from dcsvm_dask.graphs.dcsvm import merge_stage, probe_stage, scored
from dcsvm_dask.graphs.forecast import Forecast
from dcsvm_dask.graphs.goals import Goals, Shape
from dcsvm_dask.graphs.graph import COMMIT, Layer, Method, Node, Outcome, Stage, single
from dcsvm_dask.graphs.stage_plan import StagePlan, merging_plan
from dcsvm_dask.steps import pairs as steps
from dcsvm_dask.steps.probe import PROBE_CLUSTERS
from dcsvm_dask.steps.settings import Settings

MODEL = "model-pairs"
# Kernel values of a pair, for its rows times its support vectors.
WORK = 2.0


def pairs(settings: Settings, goals: Goals, shape: Shape) -> Method:
    """Yield the graph: rows are merged, all pairs are solved side by side."""
    stage = pairs_stage(goals, shape)
    if is_probed(settings, shape):
        yield [probe_stage()]
    records = yield [merge_stage(), *scored(stage, shape)]
    return Outcome(stage.name, records[stage.name]["converged"])


def is_probed(settings: Settings, shape: Shape) -> bool:
    """Whether it is worth while to look at some rows first, so that the plan tells the time."""
    return shape.n_variables > settings.set_cap


def pairs_stage(goals: Goals, shape: Shape) -> Stage:
    """Return the stage of all machines; those of most rows come first."""
    rows = shape.class_rows
    found = list(enumerate(combinations(range(len(rows)), 2)))
    found.sort(key=lambda one: -(rows[one[1][0]] + rows[one[1][1]]))
    nodes = tuple(
        Node(
            steps.node_of(a, b),
            steps.solve_pair,
            {"a": a, "b": b, "number": number, "tol": goals.tol},
        )
        for number, (a, b) in found
    )
    commit = single(COMMIT, steps.commit_pairs, stage=MODEL, n_classes=len(rows))
    return Stage(MODEL, (Layer(steps.SOLVE, nodes), commit), "pairs")


def lay_out(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take."""
    shape, rows = sizes.shape, sorted(sizes.shape.class_rows)
    probe = []
    if is_probed(sizes.settings, shape):
        probe = [StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0)]
    largest = min(sum(rows[-2:]), shape.n_variables)
    pair = replace(sizes, shape=replace(shape, n_variables=largest))
    # Each class meets every other.
    together = sum(float(a + b) ** 2 for a, b in combinations(rows, 2))
    share = sizes.support / max(1, sizes.n)
    n_pairs = len(rows) * (len(rows) - 1) // 2
    written = sizes.support * (sizes.row + 8 * (len(rows) - 1)) + 8.0 * n_pairs
    return [
        *probe,
        merging_plan(sizes),
        StagePlan(pairs_stage(goals, shape), pair.working_set(), WORK * share * together, written),
    ]
