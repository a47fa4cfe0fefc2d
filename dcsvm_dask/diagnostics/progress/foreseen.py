"""How much longer stages and the run are likely to take.

What the plan foretells of a stage is corrected by how the stages before went, and the further a
stage has come, the more its own pace counts. Blocks of a level cost about the square of their
rows; rounds end where their violation, which falls about geometrically, meets the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from dcsvm_dask.diagnostics.progress.stage import (
    DONE,
    RUNNING,
    SOLVE,
    WAITING,
    StageProgress,
)

TRUSTED = 0.5
"""From this share of a stage on, how long it took so far tells more than the plan."""
TOLD = 0.25
"""From this share of a stage on, how long it took so far tells anything of others."""
OTHERS = (0.3, 0.5)
"""What another kind of stage counts, and how much of its delay, as a power, is that of this one."""
MAYBE = 0.5
"""What rounds count that the plan foretells before their chain has begun: often none is needed."""
COMMITTING = 1.04
"""What a level takes for its blocks and its commit, for one of its blocks."""
LATE = 0.3
"""What is late takes this share longer of the time that it has taken so far."""
PRIOR = 0.05
"""Share of the run, or of a level, that counts as having gone as foretold."""
MOST_ROUNDS = 50


def correction(stages: Iterable[StageProgress], kind: str, now: float) -> float:
    """Return how many times longer than foretold stages of a kind are likely to take.

    Other kinds of stages count as well: workers may be slow, or shared with others.
    """
    total, logs, weights = sum(stage.planned for stage in stages) or 1.0, 0.0, 0.0
    for stage in stages:
        if stage.resumed or not stage.planned or stage.state == WAITING:
            continue
        share = stage.share
        if share < TOLD:
            continue
        like, said = (1.0, 1.0) if stage.kind == kind else OTHERS
        weight = like * share * stage.planned / total
        took = max(stage.seconds(now) / share, 1e-3)
        logs += weight * said * math.log(took / stage.planned)
        weights += weight
    # Short stages say little of long ones: the plan counts as one that kept to it.
    return math.exp(logs / (weights + PRIOR))


def stage_left(
    stage: StageProgress, stages: Sequence[StageProgress], workers: int, now: float
) -> float | None:
    """Return how many seconds a stage is likely to take from now on; None: nobody knows."""
    if stage.state == DONE:
        return 0.0
    foretold = stage.planned * correction(stages, stage.kind, now)
    spent, share = stage.seconds(now), stage.share
    if stage.state == RUNNING and stage.kind in ("level", "balance") and stage.blocks:
        return blocks_left(stage, foretold, workers, now)
    if not share:
        return max(foretold - spent, LATE * spent) if foretold else None
    trust = min(1.0, share / TRUSTED) if foretold else 1.0
    whole = (1.0 - trust) * foretold + trust * spent / share
    return (1.0 - share) * whole


def blocks_left(level: StageProgress, foretold: float, workers: int, now: float) -> float:
    """Return how many seconds a level with known blocks is likely to take from now on."""
    work = level.work
    side_by_side = max(1, min(workers, level.layers.get(SOLVE, 1)))
    before = foretold * side_by_side / work
    done = [block for block in level.blocks if block.state == DONE and "seconds" in block.record]
    seconds = PRIOR * work * before + math.fsum(block.record["seconds"] for block in done)
    pace = seconds / (PRIOR * work + math.fsum(block.work for block in done))
    waiting = [pace * block.work for block in level.blocks if block.state == WAITING]
    running = [
        max(pace * block.work - (now - block.began), LATE * (now - block.began))
        for block in level.blocks
        if block.state == RUNNING
    ]
    if not running:  # nobody has told which are under way: the largest that wait
        since = max(0.0, now - level.heard)
        waiting.sort(reverse=True)
        running = [max(seconds - since, LATE * since) for seconds in waiting[:workers]]
        waiting = waiting[workers:]
    # Where blocks were solved before a resume, nobody has told of them.
    total = min(sum(waiting), (1.0 - level.solved_share) * pace * work) + sum(running)
    solving = max(total / max(1, workers), max(running, default=0.0), max(waiting, default=0.0))
    return COMMITTING * solving


def rounds_left(chain: Sequence[StageProgress], foretold: int) -> int:
    """Return how many rounds a chain is likely to have after those that it has begun.

    Parameters
    ----------
    chain : sequence of StageProgress
        Its rounds that have begun, the first one first.
    foretold : int
        How many the plan expects, without the start from scratch.
    """
    found = [stage.record for stage in chain if stage.state == DONE and "tol" in stage.record]
    begun = len(chain)
    if not found:
        return max(0, foretold + 1 - begun)
    tol, last = found[-1]["tol"], found[-1]["violation"]
    under_way = begun - len(found)
    if last <= tol:
        exact = found[-1].get("from_scratch", False) or chain[0].kind == "refine"
        return max(0, (0 if exact else 1) - under_way)
    falls = [math.log(a["violation"]) - math.log(b["violation"]) for a, b in pairs(found[-4:])]
    fall = sum(falls) / len(falls) if falls else 0.0
    if fall <= 0.01:  # nothing to go by
        return max(1, foretold + 1 - begun)
    rounds = math.ceil(math.log(last / tol) / fall - 0.1)  # nearly met is met
    return max(0, min(rounds, MOST_ROUNDS) - under_way)


def pairs(records: Sequence[dict[str, float]]) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Return neighbours that both have a violation to compare."""
    both = pairwise(records)
    return [(a, b) for a, b in both if a["violation"] > 0 and b["violation"] > 0]
