"""What a DC-SVM run will do: its stages, with what each takes."""

from __future__ import annotations

from dcsvm_dask.graphs.committee import committee_stage
from dcsvm_dask.graphs.conquer import Chain, check_stage, round_stage
from dcsvm_dask.graphs.dcsvm import (
    arrange_stage,
    bottom_stage,
    chain_of,
    level_stage,
    probe_stage,
)
from dcsvm_dask.graphs.forecast import NEAR_PAIRS, Forecast, largest
from dcsvm_dask.graphs.goals import Goals
from dcsvm_dask.graphs.stage_plan import StagePlan, merging_plan
from dcsvm_dask.graphs.working_sets import closing_stage, set_stage, start_stage, subset_stage
from dcsvm_dask.steps.committee import ASKED_ROWS
from dcsvm_dask.steps.probe import PROBE_CLUSTERS

# Rounds of a kind, typical: only the run itself can tell.
ROUNDS, SETS = 2, 3
# Kernel values of the machines that leave rows out, for one of their level.
FOLDS_OF_LEVEL = 2.5


def lay_out(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages; rounds stand for one of each kind.

    Where nobody has looked whether the kernel is smooth, they are those of a local one and memory
    is that of either.
    """
    settings, measured = sizes.settings, sizes.measured
    levels = len(settings.clusters)
    climbs = not measured.smooth or bool(levels and (settings.levels_forced or goals.stop_at))
    if not levels and sizes.n <= settings.set_cap:
        return _few_rows(sizes, goals)
    return _tree(sizes, goals) if climbs else _working_sets(sizes, goals)


def _few_rows(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run whose rows are one working set."""
    n = sizes.n
    chain = chain_of("conquer", None, sizes.settings, goals, sizes.shape, local=False)
    solve = closing_stage(chain, 1, None, at_once=True)
    written = sizes.point_bytes() + sizes.support * sizes.row
    return [
        merging_plan(sizes),
        StagePlan(solve, sizes.working_set(), float(n) * n, written),
    ]


def _working_sets(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run by working sets: the subset that foresees the first, and a set of each kind."""
    n, support = sizes.n, sizes.support
    chain = chain_of("conquer", None, sizes.settings, goals, sizes.shape, local=False)
    need = largest(sizes.working_set(), sizes.checking(n))
    values = 0.8 * n * support
    point = sizes.point_bytes()
    return [
        StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0),
        merging_plan(sizes),
        StagePlan(subset_stage(), sizes.subset(), 0.2 * n * support, 0.0),
        StagePlan(start_stage(chain, foresight=True), sizes.checking(n), 0.3 * n * support, point),
        StagePlan(set_stage(chain, 1, ""), need, values, point, times=SETS - 1),
        StagePlan(closing_stage(chain, SETS, "", at_once=False), need, values, point),
    ]


def _tree(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run by the tree of levels, refinement and conquer."""
    stages = level_plans(sizes, goals)
    if not goals.stop_at:
        for name, count in (("refine", sizes.support), ("conquer", float(sizes.n))):
            if name == "conquer" or sizes.settings.clusters:
                stages += _rounds(sizes, goals, name, count)
    return stages


def level_plans(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out the tree: rows are looked at and put in block order, then come the levels."""
    settings, shape = sizes.settings, sizes.shape
    levels, stages = len(settings.clusters), []
    if not (levels and goals.stop_at >= levels):
        stages.append(StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0))
    arranged = sizes.arranged_bytes() + sizes.shuffled_bytes()
    arranging = sizes.arranging_seconds()
    stages.append(
        StagePlan(
            arrange_stage(settings, shape),
            sizes.arranging(),
            0.0,
            arranged,
            core_seconds=arranging,
            passing_bytes=sizes.shuffled_bytes(),
            relief="lower the number of clusters",
        )
    )
    for number in range(levels, max(goals.stop_at, 1) - 1, -1):
        k, bottom = settings.clusters[levels - number], number == levels
        stage = bottom_stage(settings, shape) if bottom else level_stage(settings, shape, number)
        need = sizes.level(k, bottom=bottom)
        if not bottom:
            need = largest(need, sizes.choosing(k))
        values, written = sizes.level_values(k), sizes.level_bytes()
        stages.append(StagePlan(stage, need, values, written, core_seconds=sizes.level_seconds(k)))
        if goals.committee:
            folds = FOLDS_OF_LEVEL * values + ASKED_ROWS * sizes.support
            stages.append(StagePlan(committee_stage(stage), need, folds, 0.0))
    return stages


def _rounds(sizes: Forecast, goals: Goals, name: str, count: float) -> list[StagePlan]:
    """Lay out the start of a chain of rounds over `count` rows, and one round."""
    settings, shape = sizes.settings, sizes.shape
    chain: Chain = chain_of(name, None, settings, goals, shape, local=True)
    active = min(sizes.support, count)
    blocks, products = sizes.round_blocks(count), sizes.product_bytes(count)
    need = sizes.round(count)
    if name == "conquer" and sizes.measured.smooth is None:
        need = largest(need, sizes.working_set())
    values = 0.2 * NEAR_PAIRS * count * active + blocks * settings.block_cap**2
    point = sizes.point_bytes()
    whole = NEAR_PAIRS * count * sizes.support
    check = StagePlan(check_stage(chain, 0, None), sizes.checking(count), whole, point)
    step = StagePlan(
        round_stage(chain, 1, "", blocks),
        need,
        values,
        point + products,
        times=ROUNDS,
        passing_bytes=products,
    )
    return [check, step]
