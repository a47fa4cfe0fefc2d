"""What a DC-SVM run will do: its stages, with what each takes."""

from __future__ import annotations

from dataclasses import replace

from dcsvm_dask.methods.committee import DECIDED_ROWS, LAYER
from dcsvm_dask.methods.conquer.graph import Chain, check_stage, round_stage
from dcsvm_dask.methods.dcsvm.conquering import chain_of, is_one_task
from dcsvm_dask.methods.dcsvm.few_rows import PREDICTED_ABOVE, first_look, solve_stage
from dcsvm_dask.methods.dcsvm.stages import (
    arrange_stage,
    bottom_stage,
    committee_stage,
    level_stage,
)
from dcsvm_dask.methods.dcsvm.whole_problem import solve_problem
from dcsvm_dask.methods.decomposition.moves import moves
from dcsvm_dask.methods.decomposition.options import Decomposition
from dcsvm_dask.methods.decomposition.plan import sets_plans, setting_seconds
from dcsvm_dask.methods.forecast import Forecast, largest
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.methods.load import Load
from dcsvm_dask.methods.probe import PROBE_CLUSTERS, SOLVING, SUBSET_ROWS
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan, of_loads, offset_plan
from dcsvm_dask.methods.stages import probe_stage
from dcsvm_dask.solvers.large_problem import SMALL_SET
from dcsvm_dask.storage.stage_id import DECOMPOSITION

# Rounds of a kind, typical: only the run itself can tell.
ROUNDS = 2
# Kernel values of a solution by one task, for one of all rows with all support vectors, typically.
PASSES = 4.0
# Seconds for choosing and solving a set of 2,048 rows in the process that holds all rows.
SET_SECONDS_HERE = 0.02
# Kernel values of the SVMs that leave rows out, for one of their level.
FOLDS_OF_LEVEL = 2.5


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages; rounds stand for one of each kind.

    Where nobody has looked whether the kernel is smooth, they are those of a local one and memory
    is that of either.
    """
    settings, measured = sizes.settings, sizes.measured
    levels = len(settings.clusters)
    climbs = not measured.smooth or bool(levels and (settings.levels_forced or goals.stop_at))
    first = [offset_plan(sizes)] if settings.make_task().has_sum else []
    if not levels and sizes.n <= settings.set_cap:
        return first + _few_rows(sizes, goals)
    return first + (_tree(sizes, goals) if climbs else _smooth(sizes, goals))


def _few_rows(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run whose rows are one working set."""
    n = sizes.n
    chain = chain_of("conquer", None, sizes.settings, goals, sizes.shape, local=False)
    written = sizes.point_bytes() + sizes.support * sizes.row
    solve = of_loads(
        solve_stage(chain, 1, None),
        sizes.working_set(predicted=n > PREDICTED_ABOVE),
        (
            Load("solve", kernel_values=float(n) * n, threaded=True),
            Load(COMMIT, written_bytes=written),
        ),
    )
    look = [
        StagePlan(stage, sizes.sampling(2 * SUBSET_ROWS), 0.0, 0.0)
        for stage in first_look(sizes.shape)
    ]
    if not sizes.settings.make_task().has_sum:
        return [*look, merging_plan(sizes), solve]
    whole = Load("recompute", kernel_values=float(n) * sizes.support, threaded=True)
    commit = Load(COMMIT, written_bytes=sizes.point_bytes())
    start = of_loads(
        check_stage(replace(chain, parts=1), 0, None), sizes.checking(n), (whole, commit)
    )
    return [*look, merging_plan(sizes), start, solve]


def _smooth(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Plan a run of a smooth kernel: by one task, or by parallel decomposition."""
    settings = sizes.settings
    if is_one_task(settings, sizes.shape):
        return _one_task(sizes, goals)
    chain = chain_of(DECOMPOSITION, None, settings, goals, sizes.shape, local=False)
    probe = StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0)
    options = Decomposition.within(settings.set_cap)
    return [probe, merging_plan(sizes), *sets_plans(sizes, chain, options, "lower --set-cap")]


def _one_task(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run whose rows one task solves as a whole."""
    probe = StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0)
    return [probe, merging_plan(sizes), _conquer_by_one_task(sizes, goals)]


def _conquer_by_one_task(sizes: Forecast, goals: Goals, *, local: bool = False) -> StagePlan:
    """Lay out the stage in which one task solves the whole problem, and others prove it."""
    chain = chain_of("conquer", None, sizes.settings, goals, sizes.shape, local=local)
    n = float(sizes.n)
    whole, need = n * sizes.support, sizes.whole(local=local)
    solve = Load("solve", kernel_values=PASSES * whole, threaded=True)
    if not local and sizes.has_small_sets():
        # In products a value costs a part of what it does with a solver's steps.
        values = n * moves(sizes, SMALL_SET) / SOLVING
        setting = setting_seconds(sizes, SMALL_SET, SET_SECONDS_HERE)
        solve = replace(solve, kernel_values=values, core_seconds=setting)
    if local:  # where blocks turn out to be problems of their own rounds may come instead
        need = largest(need, sizes.round(sizes.n))
    return of_loads(
        solve_stage(chain, 1, None, solve_problem),
        need,
        (
            solve,
            Load("close", kernel_values=sizes.near_share(sizes.n) * whole if local else whole),
            Load(COMMIT, written_bytes=sizes.point_bytes() + sizes.support * sizes.row),
        ),
    )


def _tree(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run by the tree of levels, refinement and conquer."""
    stages = level_plans(sizes, goals)
    settings = sizes.settings
    if goals.stop_at:
        return stages
    if settings.clusters and not settings.levels_forced and is_one_task(settings, sizes.shape):
        stages.append(_conquer_by_one_task(sizes, goals, local=True))
    else:
        for name, count in (("refine", sizes.support), ("conquer", float(sizes.n))):
            if name == "conquer" or settings.clusters:
                stages += _rounds(sizes, goals, name, count)
    return stages


def level_plans(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out the tree: rows are looked at and put in block order, then come the levels."""
    settings, shape = sizes.settings, sizes.shape
    levels, stages = len(settings.clusters), []
    if not (levels and goals.stop_at >= levels):
        stages.append(StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0))
    stages.append(
        of_loads(
            arrange_stage(settings, shape),
            sizes.arranging(),
            sizes.arranging_loads(),
            passing_bytes=sizes.shuffled_bytes(),
            remedy="lower the number of clusters",
        )
    )
    for number in range(levels, max(goals.stop_at, 1) - 1, -1):
        k, bottom = settings.clusters[levels - number], number == levels
        stage = bottom_stage(settings, shape) if bottom else level_stage(settings, shape, number)
        need = sizes.level(k, bottom=bottom)
        if not bottom:
            need = largest(need, sizes.choosing(k))
        level = of_loads(stage, need, sizes.level_loads(k, bottom=bottom))
        stages.append(level)
        if goals.committee:
            folds = FOLDS_OF_LEVEL * level.kernel_values + DECIDED_ROWS * sizes.support
            blocks = next(load.largest for load in level.loads if load.layer == "solve")
            calibrating = Load(LAYER, kernel_values=folds, largest=blocks)
            stages.append(of_loads(committee_stage(stage), need, (calibrating,)))
    return stages


def _rounds(sizes: Forecast, goals: Goals, name: str, count: float) -> list[StagePlan]:
    """Lay out the start of a chain of rounds over `count` rows, and one round."""
    settings, shape = sizes.settings, sizes.shape
    chain: Chain = chain_of(name, None, settings, goals, shape, local=True)
    active, near = min(sizes.support, count), sizes.near_share(sizes.n)
    blocks, products = sizes.round_blocks(count), sizes.product_bytes(count)
    need = sizes.round(count)
    commit = Load(COMMIT, written_bytes=sizes.point_bytes())
    whole = Load("recompute", kernel_values=near * count * sizes.support, threaded=True)
    check = of_loads(check_stage(chain, 0, None), sizes.checking(count), (whole, commit))
    step = of_loads(
        round_stage(chain, 1, "", blocks),
        need,
        (
            Load("improve", kernel_values=blocks * float(settings.block_cap) ** 2),
            Load(
                "product",
                kernel_values=0.2 * near * count * active,
                written_bytes=products,
            ),
            commit,
        ),
        times=ROUNDS,
        passing_bytes=products,
    )
    return [check, step]
