"""The graph of DC-SVM: levels, refinement, conquer (Hsieh, Si, Dhillon 2014, Algorithm 1).

Of few rows one task conquers from the last level, without refinement and rounds.
A level whose blocks are problems of their own is solved again for the bias that makes y'alpha
zero; where it is asked for, a level's SVMs are calibrated for committee prediction.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace

from dcsvm_dask.methods.conquer.graph import conquer, finish_with
from dcsvm_dask.methods.dcsvm.conquering import (
    chain_of,
    conquer_by_one_task,
    conquer_by_sets,
    conquer_smooth,
    is_one_set,
    is_one_task,
)
from dcsvm_dask.methods.dcsvm.few_rows import few_rows, first_look
from dcsvm_dask.methods.dcsvm.stages import (
    arrange_stage,
    balance_stage,
    bottom_stage,
    level_stage,
    partition_stage,
    scored_level,
)
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import Graph, Outcome, Stages
from dcsvm_dask.methods.problem import ARRANGE, OFFSET, PROBE, informed
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stages import merge_stage, offset_stage, probe_stage
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId

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


# Where a round of conquer leaves more than this share of the violation, blocks depend on each other
# too much, and working sets of rows of all blocks are faster ...
SLOW = 0.45
# ... of up to so many rows: each set meets all of them, a round those that its blocks can reach.
MOST_ROWS_OF_SETS = 65_536
# Times the rows of which the kernel matrix is in memory: from there on the blocks of the last level
# take longer than what they are to save.
LARGE_BLOCK = 2


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
        before = [*first_look(shape), merge_stage()]
        reached = yield from few_rows(chain, has_sum=has_sum, before=before)
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
            if not (alone or settings.levels_forced) and is_one_task(settings, shape):
                graphs = conquer_by_one_task(settings, goals, shape, level=source)
                return (yield from graphs)
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
