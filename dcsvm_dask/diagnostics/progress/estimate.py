"""When a run is likely to end, from the stages that have been told of and the plan.

How much longer stages and the run are likely to take.

What the plan foretells of a stage is corrected by how the stages before went, and the further a
stage has come, the more its own pace counts. Blocks of a level cost about the square of their
rows; rounds end where their violation, which falls about geometrically, meets the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dcsvm_dask.diagnostics.progress.stage import (
    DONE,
    RUNNING,
    SOLVE,
    WAITING,
    StageProgress,
)
from dcsvm_dask.methods.forecast import support_share
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import CHAINS, StageId

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


LAST_ROUNDS = 10
"""Rounds that tell how others will go; there may be hundreds."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is likely to be left of a run at some moment."""

    stages: list[StageProgress]
    """Those that have begun in their order, then those foretold."""
    plan: Record
    """See `dcsvm_dask.methods.plan.Plan.to_json`; empty where nothing is foretold."""
    workers: int
    """Tasks that may run at a time."""
    now: float

    def run(self) -> float | None:
        """Return the seconds that are left of the run; None: nobody knows."""
        if not self.plan:
            return None
        single = sum(self._ahead(stage) for stage in self.stages if stage.kind not in CHAINS)
        return single + sum(self.chain(kind) or 0.0 for kind in CHAINS) + self._scoring()

    def chain(self, kind: str) -> float | None:
        """Return the seconds that are left of a chain of rounds; None: nobody knows."""
        if not self.plan:
            return None
        known = sum(self._ahead(stage) for stage in self.stages if stage.kind == kind)
        return known + self._more_rounds(kind)

    def stage(self, stage: StageProgress) -> float | None:
        """Return the seconds that are left of a stage; None: nobody knows."""
        if stage.state == DONE:
            return 0.0
        return stage_left(stage, self._telling(), self.workers, self.now)

    def _ahead(self, stage: StageProgress) -> float:
        """Return the seconds that are left of a stage and of those like it that are foretold."""
        if stage.state != WAITING:
            return self.stage(stage) or 0.0
        maybe = stage.kind == "refine" or "improve" in stage.layers
        times = MAYBE * stage.times if maybe else stage.times
        if stage.kind in CHAINS:
            times *= self._support_beside_plan()
        return times * stage.planned * correction(self._telling(), stage.kind, self.now)

    def _more_rounds(self, kind: str) -> float:
        """Return the seconds of the rounds that follow those of a chain that have begun."""
        begun = [stage for stage in self.stages if stage.state != WAITING]
        chain = [stage for stage in begun if stage.kind == kind]
        if not chain or begun[-1].kind != kind:  # it has not begun, or it has ended
            return 0.0
        planned = [of for name, of in self.plan["stages"].items() if StageId(name).kind == kind]
        alone = any(stage.record.get("alone") for stage in begun)
        rounds = rounds_left(chain, 0 if alone else sum(of["times"] for of in planned[1:]))
        took = [stage.seconds(self.now) for stage in chain[1:] if stage.state == DONE][-3:]
        if took:
            return rounds * sum(took) / len(took)
        like = max((of["seconds"] for of in planned[1:]), default=0.0)
        return rounds * like * correction(self._telling(), kind, self.now)

    def _support_beside_plan(self) -> float:
        """Return how many times more support vectors there are than the plan foretold.

        What a round computes is as much more.
        """
        levels = [stage.record for stage in self.stages if stage.kind == "level"]
        found = [record for record in levels if "support" in record]
        if not found or "measured" not in self.plan:
            return 1.0
        foretold = found[-1]["rows"] * support_share(self.plan["measured"]["set_share"])
        return float(found[-1]["support"] / max(1.0, foretold))

    def _scoring(self) -> float:
        """Return the seconds of scoring the exact model, which no plan foretells."""
        scores = [stage.record for stage in self.stages if stage.kind == "score" and stage.record]
        found = [stage.record["support"] for stage in self.stages if "support" in stage.record]
        has_model = any("model" in stage.name for stage in self.stages)
        if not (scores and found) or has_model or "measured" not in self.plan:
            return 0.0
        values: float = scores[-1]["rows"] * found[-1]
        return values * float(self.plan["measured"]["value_seconds"])

    def _telling(self) -> list[StageProgress]:
        """Return the stages that tell how others will go: of rounds the last ones."""
        found, rounds = [], 0
        for stage in reversed(self.stages):
            rounds += stage.kind in CHAINS
            if stage.kind not in CHAINS or rounds <= LAST_ROUNDS:
                found.append(stage)
        return found
