"""The graph of DC-SVM: levels, refinement, conquer (Hsieh, Si, Dhillon 2014, Algorithm 1).

A level whose blocks are problems of their own is solved again for the bias that makes y'alpha
zero; where it is asked for, a level's SVMs are calibrated for committee prediction.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from dcsvm_dask.methods import arrange, committee, partition
from dcsvm_dask.methods import arrange as shuffle
from dcsvm_dask.methods.conquer.graph import Chain, conquer, finish_with
from dcsvm_dask.methods.dcsvm import balance, level
from dcsvm_dask.methods.dcsvm.few_rows import few_rows
from dcsvm_dask.methods.dcsvm.whole_problem import solve_problem
from dcsvm_dask.methods.decomposition.graph import working_sets
from dcsvm_dask.methods.decomposition.options import Decomposition
from dcsvm_dask.methods.graph import (
    COMMIT,
    Graph,
    Keep,
    Layer,
    Outcome,
    Stage,
    Stages,
    many,
    single,
)
from dcsvm_dask.methods.method import Goals, Shape
from dcsvm_dask.methods.problem import ARRANGE, OFFSET, PROBE, informed
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.sizes import (
    PAGES_OF_PIECE,
    arrange_parts,
    bottom_clusters,
    level_slots,
    row_parts,
    shuffle_shares,
)
from dcsvm_dask.methods.stages import (
    merge_stage,
    offset_stage,
    probe_stage,
    score_stage,
    scored,
)
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import BALANCE, COMMITTEE, DECOMPOSITION, PARTITION, StageId


def committee_stage(level: Stage) -> Stage:
    """Return the stage that calibrates the SVMs of a level, in as many tasks as it had."""
    solve = next(layer for layer in level.layers if layer.name == "solve")
    name, slots = committee_name(level.name), len(solve.nodes)
    layers: tuple[Layer, ...] = (
        many(
            committee.LAYER,
            committee.calibrate_slot,
            slots,
            "slot",
            keep=Keep.STAGE,
            level=level.name,
            slots=slots,
        ),
        single(COMMIT, committee.commit_committee, stage=name, level=level.name, slots=slots),
    )
    return Stage(name, layers, f"{level.label}_committee")


def committee_name(level: str) -> str:
    """Return the name of the stage that calibrates a level."""
    return StageId.about(COMMITTEE, level)


# y'alpha is nearly linear in the bias: more stages than these mean that it is not.
MOST_STAGES = 4
# A bias this near to the one that balances, as a share of the tolerance, is that one: what is left
# of y'alpha is taken from the free variables.
NEAR = 0.3


def balanced(level: str, record: Record, tol: float) -> Generator[Graph, dict[str, Record], str]:
    """Yield stages that solve a level's blocks again for a better bias; return the last one.

    Parameters
    ----------
    level : str
        The committed level.
    record : dict
        Its record.
    tol : float
        Violation of the exact model.
    """
    last = level
    for number in range(1, MOST_STAGES + 1):
        if abs(record["next_bias"] - record["offset"]) <= NEAR * tol:
            break
        stage = balance_stage(level, number, last, record)
        record = (yield [stage])[stage.name]
        last = stage.name
    return last


def balance_stage(level: str, number: int, previous: str, record: Record) -> Stage:
    """Return the stage that solves all blocks for the next bias.

    Parameters
    ----------
    level : str
        The stage of the level.
    number : int
        Number of the solution.
    previous : str
        The stage of the last solution.
    record : dict
        Its record.
    """
    name, slots = StageId.numbered(BALANCE, number), level_slots(record["blocks"], record["rows"])
    layers = (
        many(
            "solve",
            balance.move_slot,
            slots,
            "slot",
            level=level,
            previous=previous,
            slots=slots,
        ),
        single(
            COMMIT,
            balance.commit_balance,
            stage=name,
            level=level,
            previous=previous,
            slots=slots,
        ),
    )
    return Stage(name, layers, "balance", supersedes=previous if previous != level else None)


# Times the levels' tolerance: refinement need not be more exact than what the whole problem will
# change about it.
REFINE_TOL = 10.0


# Where a round of conquer leaves more than this share of the violation, blocks depend on each other
# too much, and working sets of rows of all blocks are faster ...
SLOW = 0.45
# ... of up to so many rows: each set meets all of them, a round those that its blocks can reach.
MOST_ROWS_OF_SETS = 65_536
MOST_WORK = 2.5e12
"""Multiplications of a kernel matrix of all rows up to which one task solves a problem of a smooth
kernel ..."""
FUNCTION_FEATURES, VALUE_BYTES = 50, 4
"""... of which the kernel's function counts as so many features; bytes of a feature."""
# Times the rows of which the kernel matrix is in memory: from there on the blocks of the last level
# take longer than what they are to save.
LARGE_BLOCK = 2


def is_one_set(settings: Settings, shape: Shape) -> bool:
    """Return whether all rows of a run are one working set."""
    return not settings.clusters and shape.n_variables <= settings.set_cap


def dcsvm(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield the graphs of a DC-SVM run.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    levels, has_sum = len(settings.clusters), settings.make_task().has_sum
    first: Record = {}
    if has_sum:
        first = (yield [offset_stage()])[OFFSET]
        settings = informed(settings, first)
    has_size = "epsilon" in first
    if is_one_set(settings, shape):
        chain = chain_of("conquer", None, settings, goals, shape, local=False)
        chain = replace(chain, parts=1)
        reached = yield from few_rows(chain, has_sum=has_sum, before=[merge_stage()])
        return (yield from finish_with(reached, shape))
    if levels and goals.stop_at >= levels:  # one level is all that is asked for, in any regime
        bottom = scored_level(bottom_stage(settings, shape), goals, shape)
        yield [arrange_stage(settings, shape), *bottom]
        return Outcome(StageId.level(levels), converged=False)
    records = yield [probe_stage()]
    local = not records[PROBE]["smooth"]
    climbs = levels and (local or settings.levels_forced or goals.stop_at or goals.early)
    if not (climbs or local):
        # A run that was to stop at a level has rows in block order already.
        in_blocks = (yield [merge_stage()])[ARRANGE]["parts"]
        before = [arrange_stage(settings, shape)] if in_blocks else []
        return (yield from conquer_smooth(settings, goals, shape, before))
    yield [arrange_stage(settings, shape)]
    source: str | None = None
    if climbs:
        source = StageId.level(levels)
        records = yield scored_level(bottom_stage(settings, shape), goals, shape)
        local = settings.levels_forced or (local and records[source]["levels_pay"])
        # Where upper levels do not pay, the bottom one is the early model that there is.
        if goals.stop_at and not local:
            return Outcome(source, converged=False)
        if local:
            last = max(goals.stop_at, 1)
            source, records = yield from upper_levels(settings, goals, shape, last, records)
            if goals.stop_at:
                return Outcome(source, converged=False)
            alone = records[source]["alone"]
            if not (has_size or alone):
                refined = yield from conquer(
                    chain_of("refine", source, settings, goals, shape, local=True)
                )
                source = refined.stage
            elif settings.fit_intercept and not has_size:
                source = yield from balanced(source, records[source], goals.tol)
    if has_size or not local:
        # Blocks that keep the sums of both signs each for itself are slow to agree, and SVMs of
        # clusters that contradict each other are a worse start than none.
        return (yield from conquer_smooth(settings, goals, shape))
    chain = chain_of("conquer", source, settings, goals, shape, local=True)
    few = shape.n_variables <= MOST_ROWS_OF_SETS
    # Working sets go on from f of all rows.
    chain = replace(chain, rests=not few)
    reached = yield from conquer(chain, SLOW if few else math.inf)
    if reached.is_slow:
        return (yield from conquer_by_sets(settings, goals, shape, previous=reached.stage))
    return (yield from finish_with(reached, shape))


def is_one_task(settings: Settings, shape: Shape) -> bool:
    """Return whether one task solves the problem of a smooth kernel, sooner than several would.

    Its solver meets rows as they are stored in memory, predicts support vectors, and has large
    working sets; shares of the rows save less than sending them steps costs.
    """
    row = max(1.0, shape.n_bytes / max(1, shape.n_rows)) / VALUE_BYTES
    work = float(shape.n_variables) ** 2 * (row + FUNCTION_FEATURES)
    few = shape.n_variables <= MOST_ROWS_OF_SETS and work <= MOST_WORK
    return few and not settings.make_task().has_sum


def upper_levels(
    settings: Settings, goals: Goals, shape: Shape, last: int, records: dict[str, Record]
) -> Generator[Graph, dict[str, Record], tuple[str, dict[str, Record]]]:
    """Yield the graphs of the levels above the bottom; return the last level and its records.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    last : int
        Number of the level at which they end.
    records : dict
        Those of the bottom level.
    """
    levels = len(settings.clusters)
    upper = list(range(levels - 1, last - 1, -1))
    source = StageId.level(levels)
    weighed = bool(upper) and is_weighed(settings, goals, shape, last)
    if weighed:
        upper.pop()
    if upper:
        records = yield [
            stage
            for number in upper
            for stage in scored_level(level_stage(settings, shape, number), goals, shape)
        ]
        source = StageId.level(upper[-1])
    if weighed:
        weighing = partition_stage(settings, last)
        if (yield [weighing])[weighing.name]["pays"]:
            level = level_stage(settings, shape, last, weighed=True)
            records = yield scored_level(level, goals, shape)
            source = StageId.level(last)
    return source, records


def is_weighed(settings: Settings, goals: Goals, shape: Shape, number: int) -> bool:
    """Return whether a level is solved only if its clusters lie apart; see `partition_stage`.

    Blocks whose matrix exceeds memory take longer to solve than conquer gains by them, unless
    nearly nothing is left between them.
    """
    rows = shape.n_variables / settings.clusters[len(settings.clusters) - number]
    asked_for = settings.levels_forced or goals.stop_at or goals.committee
    return not asked_for and rows > LARGE_BLOCK * settings.block_cap


def conquer_smooth(
    settings: Settings, goals: Goals, shape: Shape, before: Sequence[Stage] = ()
) -> Stages:
    """Yield the graphs that solve the whole problem from zero: in one task, or by many.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    before : sequence of Stage
        Stages that go first.
    """
    if not is_one_task(settings, shape):
        return (yield from conquer_by_sets(settings, goals, shape, before=before))
    chain = chain_of("conquer", None, settings, goals, shape, local=False)
    reached = yield from few_rows(chain, solve=solve_problem, before=before)
    return (yield from finish_with(reached, shape))


def conquer_by_sets(
    settings: Settings,
    goals: Goals,
    shape: Shape,
    *,
    previous: str | None = None,
    before: Sequence[Stage] = (),
) -> Stages:
    """Yield the graphs that solve the whole problem by parallel decomposition.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    previous : str, optional
        The stage of a point to start from, with f of all rows; without it they start from zero.
    before : sequence of Stage
        Stages that go first.
    """
    chain = chain_of(DECOMPOSITION, None, settings, goals, shape, local=False)
    options, has_sum = Decomposition.within(settings.set_cap), settings.make_task().has_sum
    n = shape.n_variables
    reached = yield from working_sets(
        chain, options, n, has_sum=has_sum, previous=previous, before=before
    )
    return (yield from finish_with(reached, shape))


def chain_of(
    name: str,
    source: str | None,
    settings: Settings,
    goals: Goals,
    shape: Shape,
    *,
    local: bool,
) -> Chain:
    """Return the chain of rounds called "refine", "conquer" or "decomposition".

    Parameters
    ----------
    name : {"refine", "conquer", "decomposition"}
    source : str or None
        The stage of the warm start; None: zero.
    settings : Settings
    goals : Goals
    shape : Shape
    local : bool
        Whether the kernel is local.
    """
    refine = name == "refine"
    return Chain(
        name,
        source,
        support_only=refine,
        local=local,
        tol=REFINE_TOL * settings.level_tol if refine else goals.tol,
        parts=row_parts(shape.n_variables, settings.chunk_rows),
        max_rounds=goals.max_rounds,
    )


def scored_level(level: Stage, goals: Goals, shape: Shape) -> Graph:
    """Return a level's stage and the stages that score it and calibrate its SVMs.

    Parameters
    ----------
    level : Stage
    goals : Goals
    shape : Shape
    """
    graph = scored(level, shape)
    if goals.committee:
        graph.append(committee_stage(level))
        if shape.holdout:
            graph.append(score_stage(level, committee=graph[-1]))
    return graph


def arrange_stage(settings: Settings, shape: Shape, parts: int | None = None) -> Stage:
    """Return the stage that clusters all rows and writes them in block order.

    Parameters
    ----------
    parts : int, optional
        Tasks that write rows in block order; None: as many as the data's size asks for.
    """
    n_clusters = bottom_clusters(settings.clusters, shape.n_variables)
    parts = arrange_parts(shape.n_bytes) if parts is None else parts
    shuffled = parts > 1
    if shuffled:
        shares, pages = shuffle_shares(shape.n_bytes, parts), PAGES_OF_PIECE * parts
        assigning = many(
            "assign", shuffle.assign_and_sort, shares, "part", parts=shares, pages=pages
        )
        found = [single("pieces", shuffle.find_pieces, keep=Keep.STAGE, parts=parts, shares=shares)]
    else:
        shares, found = row_parts(shape.n_rows, settings.chunk_rows), []
        assigning = many("assign", partition.assign_data, shares, "part", parts=shares)
    layers = (
        single("cluster", partition.cluster_data, n_clusters=n_clusters),
        assigning,
        single("order", arrange.order_rows, keep=Keep.RUN, parts=shares, readers=parts),
        *found,
        many(
            "part",
            arrange.arrange_part,
            parts,
            "part",
            keep=Keep.RUN,
            parts=parts,
            shuffled=shuffled,
        ),
        single(COMMIT, arrange.commit_arrangement, parts=parts),
    )
    return Stage(ARRANGE, layers, "arrange")


def bottom_stage(settings: Settings, shape: Shape) -> Stage:
    """Return the bottom level: the blocks that were arranged, solved from zero."""
    number = len(settings.clusters)
    name, slots = StageId.level(number), level_slots(settings.clusters[0], shape.n_variables)
    layers = (
        many(
            "solve",
            level.solve_slot,
            slots,
            "slot",
            stage=name,
            slots=slots,
            below=None,
        ),
        single(COMMIT, level.commit_level, stage=name, slots=slots, below=None),
    )
    return Stage(name, layers, f"l{number}")


def partition_stage(settings: Settings, number: int) -> Stage:
    """Return the stage that chooses a level's partition, and says whether to solve its blocks.

    Parameters
    ----------
    settings : Settings
    number : int
        Number of the level.
    """
    name = StageId.about(PARTITION, StageId.level(number))
    layer = single(COMMIT, partition.weigh_partition, **_partition_of(settings, number))
    return Stage(name, (layer,), f"l{number}_partition")


def _partition_of(settings: Settings, number: int) -> dict[str, Any]:
    """Return the arguments of the steps that choose a level's partition."""
    n_clusters = settings.clusters[len(settings.clusters) - number]
    return {"level": number, "n_clusters": n_clusters, "below": StageId.level(number + 1)}


def level_stage(settings: Settings, shape: Shape, number: int, *, weighed: bool = False) -> Stage:
    """Return a level above the bottom: clustered anew on support vectors, solved warm.

    Parameters
    ----------
    settings : Settings
    shape : Shape
    number : int
        Number of the level.
    weighed : bool, default False
        Whether `partition_stage` has chosen its partition.
    """
    name, below = StageId.level(number), StageId.level(number + 1)
    chosen = _partition_of(settings, number)
    slots = level_slots(chosen["n_clusters"], shape.n_variables)
    parts = row_parts(shape.n_variables, settings.chunk_rows)
    clustering = () if weighed else (single("cluster", partition.cluster_support, **chosen),)
    layers = (
        *clustering,
        many("assign", partition.assign_problem, parts, "part", stage=name, parts=parts),
        single("order", partition.order_blocks, stage=name, parts=parts),
        many(
            "solve",
            level.solve_slot,
            slots,
            "slot",
            stage=name,
            slots=slots,
            below=below,
        ),
        single(COMMIT, level.commit_level, stage=name, slots=slots, below=below),
    )
    return Stage(name, layers, f"l{number}")
