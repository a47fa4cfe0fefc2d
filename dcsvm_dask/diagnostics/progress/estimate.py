"""Estimates of the time that stages and a run still take.

The plan's estimate of a stage is corrected by the times of earlier stages, and the further a stage
has come, the more its own pace counts. Blocks of a level cost about the square of their rows;
rounds end where their violation, which falls about geometrically, meets the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from dcsvm_dask.diagnostics.progress.rounds import proof_left, rounds_left
from dcsvm_dask.diagnostics.progress.stage import (
    DONE,
    IMPROVE,
    OF_SETS,
    RUNNING,
    SOLVE,
    WAITING,
    StageProgress,
)
from dcsvm_dask.methods.measured import support_share
from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import LEVEL, MODEL, SCORE

TRUSTED = 0.5
"""Share of a stage from which on only its own pace counts, not the plan."""
INFORMATIVE = 0.25
"""Share of a stage from which on its pace is used for other stages."""
OTHERS = (0.3, 0.5)
"""Weight of a stage of another kind, and the power of its delay that is applied to this kind."""
MAYBE = 0.5
"""Weight of rounds that are planned before their chain begins: often none is needed."""
COMMITTING = 1.04
"""Time of a level's blocks and commit over that of its blocks."""
LATE = 0.3
"""Remaining time of a stage that exceeds its estimate, as a share of its elapsed time."""
SILENT = 0.7
"""Likewise of a stage that has not told yet how far it is."""
UNSURE = 0.45
"""Remaining time of working sets that exceed their plan, whose number nobody knows, likewise."""
PRIOR = 0.05
"""Weight of the plan's estimate, as a share of the run or of a level."""


def correction(stages: Iterable[StageProgress], kind: StageKind, now: float) -> float:
    """Return the factor by which stages of a kind are expected to exceed their planned times.

    Stages of other kinds count as well: workers may be slow, or shared with others.

    Parameters
    ----------
    stages : iterable of StageProgress
        Stages of the run so far.
    kind : StageKind
        The kind of the stages to estimate.
    now : float
        Seconds since 1970.

    Returns
    -------
    float
        A positive factor; 1 without information.
    """
    total, logs, weights = sum(stage.planned for stage in stages) or 1.0, 0.0, 0.0
    for stage in stages:
        if stage.resumed or not stage.planned or stage.state == WAITING:
            continue
        if stage.kind.of_sets:  # commits come by time, whatever was planned
            continue
        share = stage.share
        if share < INFORMATIVE:
            continue
        like, power = (1.0, 1.0) if stage.kind == kind else OTHERS
        weight = like * share * stage.planned / total
        took = max(stage.seconds(now) / share, 1e-3)
        logs += weight * power * math.log(took / stage.planned)
        weights += weight
    # Short stages say little about long ones, so the plan counts as a stage that met its estimate.
    return math.exp(logs / (weights + PRIOR))


def stage_left(
    stage: StageProgress, stages: Sequence[StageProgress], workers: int, now: float
) -> float | None:
    """Return the estimated remaining seconds of a stage.

    Parameters
    ----------
    stage : StageProgress
    stages : sequence of StageProgress
        Stages whose times correct the plan.
    workers : int
        Tasks that run at a time.
    now : float
        Seconds since 1970.

    Returns
    -------
    float or None
        None if there is nothing to estimate from.
    """
    if stage.state == DONE:
        return 0.0
    planned = stage.planned * correction(stages, stage.kind, now)
    spent, share = stage.seconds(now), stage.share
    if stage.state == RUNNING and stage.kind.of_blocks and stage.blocks:
        return blocks_left(stage, planned, workers, now)
    if not share:
        return max(planned - spent, SILENT * spent) if planned else None
    since = min(spent, max(0.0, now - stage.last_event))
    trust = min(1.0, share / TRUSTED) if planned else 1.0

    def left(seconds: float) -> float:  # if its share was reached after so many
        return (1.0 - share) * ((1.0 - trust) * planned + trust * seconds / share)

    # Since its latest event it may have gone on as before, or hardly at all.
    return math.sqrt(max(left(spent - since) - since, LATE * since) * left(spent))


def blocks_left(level: StageProgress, planned: float, workers: int, now: float) -> float:
    """Return the estimated remaining seconds of a level with known blocks.

    Parameters
    ----------
    level : StageProgress
    planned : float
        Estimate of the whole level before it began, in seconds.
    workers : int
        Tasks that run at a time.
    now : float
        Seconds since 1970.

    Returns
    -------
    float
    """
    work = level.work
    side_by_side = max(1, min(workers, level.layers.get(SOLVE, 1)))
    before = planned * side_by_side / work
    done = [block for block in level.blocks if block.state == DONE and "seconds" in block.record]
    seconds = PRIOR * work * before + math.fsum(block.record["seconds"] for block in done)
    pace = seconds / (PRIOR * work + math.fsum(block.work for block in done))
    waiting = [pace * block.work for block in level.blocks if block.state == WAITING]
    running = [
        max(pace * block.work - (now - block.began), LATE * (now - block.began))
        for block in level.blocks
        if block.state == RUNNING
    ]
    if not running:  # no task has reported its block: assume the largest that wait
        since = max(0.0, now - level.last_event)
        waiting.sort(reverse=True)
        running = [max(seconds - since, LATE * since) for seconds in waiting[:workers]]
        waiting = waiting[workers:]
    # Blocks that were solved before a resume are not reported.
    total = min(sum(waiting), (1.0 - level.solved_share) * pace * work) + sum(running)
    solving = max(total / max(1, workers), max(running, default=0.0), max(waiting, default=0.0))
    return COMMITTING * solving


def fall_left(falls: Sequence[tuple[float, int, float]], tol: float, now: float) -> float | None:
    """Return the seconds until a violation meets its tolerance, by how it fell lately.

    Parameters
    ----------
    falls : sequence of (float, int, float)
        Times, numbers of working sets, and violations.
    tol, now : float

    Returns
    -------
    float or None
        None where it has not fallen yet.
    """
    known = [(at, violation) for at, _, violation in falls if violation > 0.0]
    if len(known) < 2 or tol <= 0.0:
        return None
    end, violation = known[-1]
    if violation <= tol:
        return 0.0
    middle = 0.5 * (known[0][0] + end)
    late = [point for point in known if point[0] >= middle]
    begin, before = max(late if len(late) > LEAST_FALLS else known, key=lambda point: point[1])
    if end <= begin or before <= violation:
        return None
    left = math.log(violation / tol) * (end - begin) / math.log(before / violation)
    return max(left - (now - end), LATE * (now - end), 0.0)


LEAST_FALLS = 3
"""Working sets from which on the later half of the time says how fast the violation falls."""

LAST_ROUNDS = 10
"""Latest rounds that are used to estimate others; there may be hundreds."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated remaining time of a run at some moment."""

    stages: list[StageProgress]
    """Stages that have begun, in order, then planned ones."""
    plan: Record
    """See `dcsvm_dask.methods.plan.Plan.to_json`; empty where there is no plan."""
    workers: int
    """Tasks that may run at a time."""
    now: float

    def run(self) -> float | None:
        """Return the remaining seconds of the run; None without a plan."""
        if not self.plan:
            return None
        single = sum(self._ahead(stage) for stage in self.stages if not stage.kind.until_tolerance)
        kinds = dict.fromkeys(stage.kind for stage in self.stages if stage.kind.until_tolerance)
        return single + sum(self.chain(kind) or 0.0 for kind in kinds) + self._scoring()

    def chain(self, kind: StageKind) -> float | None:
        """Return the remaining seconds of a chain of rounds; None without a plan."""
        if not self.plan:
            return None
        if kind.of_sets:
            return self._sets_left(kind)
        known = sum(self._ahead(stage) for stage in self.stages if stage.kind == kind)
        return known + self._more_rounds(kind)

    def stage(self, stage: StageProgress) -> float | None:
        """Return the remaining seconds of a stage; None if there is nothing to estimate from."""
        if stage.state == DONE:
            return 0.0
        if stage.kind.of_sets:
            return self.chain(stage.kind)
        return stage_left(self._as_planned(stage), self._recent_stages(), self.workers, self.now)

    def _as_planned(self, stage: StageProgress) -> StageProgress:
        """Return a stage under way with what the plan would say if it knew the support vectors."""
        known = any(
            one.kind == stage.kind and one.state == DONE and not one.resumed for one in self.stages
        )
        if known or not stage.kind.until_tolerance:
            return stage
        return replace(stage, planned=stage.planned * self._support_beside_plan())

    def _ahead(self, stage: StageProgress) -> float:
        """Return the remaining seconds of a stage and of the planned stages like it."""
        if stage.state != WAITING:
            return self.stage(stage) or 0.0
        maybe = stage.kind.is_optional or stage.improves
        times = MAYBE * stage.times if maybe else stage.times
        if stage.kind.until_tolerance:
            times *= self._support_beside_plan()
        return times * stage.planned * correction(self._recent_stages(), stage.kind, self.now)

    def _sets_left(self, kind: StageKind) -> float:
        """Return the remaining seconds of one chain of working sets, and of f from scratch."""
        chain = [one for one in self.stages if one.kind == kind and one.state != WAITING]
        planned = [of for name, of in self.plan["stages"].items() if kind_of(name) == kind]
        factor = correction(self._recent_stages(), kind, self.now)
        sets = self._sets_planned(planned, chain, factor)
        # The last one that is planned proves that the answer is reached.
        proving: float = planned[-1]["seconds"] if planned else 0.0
        check = factor * self._check_support(chain) * proving
        if not chain or not any(stage.solves_sets for stage in chain):
            return sets + check
        last = chain[-1]
        if not last.solves_sets:
            if last.state == DONE:
                return 0.0 if last.record["violation"] <= last.record["tol"] else LATE * check
            spent, share = last.seconds(self.now), last.share
            return max(check * (1.0 - share), LATE * spent * (1.0 - share))
        falls = [point for stage in chain for point in stage.falls]
        spent = sum(stage.seconds(self.now) for stage in chain if stage.solves_sets)
        share = max(stage.fallen for stage in chain)
        goal = next((stage.reached["tol"] for stage in reversed(chain) if stage.reached), 0.0)
        own = fall_left(falls, goal, self.now)
        rest = max(sets - spent, UNSURE * spent)
        if own is None:
            return rest + check
        trust = min(1.0, share / TRUSTED)
        # The violation may hardly fall for half of the time, which passes nevertheless.
        rest = min(sets * (1.0 - share), rest)
        return (1.0 - trust) * max(rest, own * share) + trust * own + check

    def _sets_planned(
        self, planned: Sequence[Record], chain: Sequence[StageProgress], factor: float
    ) -> float:
        """Return the seconds that all working sets of a chain take by their plan."""
        planned = [of for of in planned if set(of["layers"]) <= OF_SETS]
        done = [stage for stage in chain if stage.solves_sets and stage.state == DONE]
        timed = [stage for stage in done if not stage.resumed]
        took = sum(stage.seconds(self.now) for stage in timed)
        values = sum(stage.record.get("kernel_values", 0) for stage in timed)
        if not values:
            return float(factor * sum(of["seconds"] * of["times"] for of in planned))
        # What is left goes at the pace of those that are committed.
        left = sum(of["kernel_values"] * of["times"] for of in planned)
        left -= sum(stage.record.get("kernel_values", 0) for stage in done)
        return float(took + max(0.0, left) * took / values)

    def _check_support(self, chain: Sequence[StageProgress]) -> float:
        """Return the number of support vectors over the planned one, once it is committed."""
        found = [stage.record for stage in chain if "share_seconds" in stage.record]
        if not found or "measured" not in self.plan:
            return 1.0
        planned = found[-1]["rows"] * support_share(self.plan["measured"]["set_share"])
        return float(found[-1]["support"] / max(1.0, planned))

    def _more_rounds(self, kind: StageKind) -> float:
        """Return the seconds of the rounds of a chain that have not begun."""
        begun = [stage for stage in self.stages if stage.state != WAITING]
        chain = [stage for stage in begun if stage.kind == kind]
        if not chain or begun[-1].kind != kind:  # it has not begun, or it has ended
            return 0.0
        planned = [of for name, of in self.plan["stages"].items() if kind_of(name) == kind]
        independent = any(stage.record.get("alone") for stage in begun)
        before = [one for one in begun if one.kind != kind and one.improves]
        improves = any(IMPROVE in of["layers"] for of in planned)
        improves |= any(one.improves for one in chain)
        times = max(sum(of["times"] for of in planned[1:]), len(before))
        times = 0 if independent else times
        rounds = rounds_left(chain, times, improves=improves, before=before)
        took = [one.seconds(self.now) for one in chain[1:] if one.state == DONE][-3:]
        like = max((of["seconds"] for of in planned[1:]), default=0.0)
        each = fmean(took) if took else like * correction(self._recent_stages(), kind, self.now)
        proof = proof_left(chain, rounds, self.now) if improves else 0.0
        return rounds * each + proof

    def _support_beside_plan(self) -> float:
        """Return the number of support vectors over the planned one; rounds cost as much more."""
        levels = [stage.record for stage in self.stages if stage.kind.name == LEVEL]
        found = [record for record in levels if "support" in record]
        if not found or "measured" not in self.plan:
            return 1.0
        planned = found[-1]["rows"] * support_share(self.plan["measured"]["set_share"])
        return float(found[-1]["support"] / max(1.0, planned))

    def _scoring(self) -> float:
        """Return the seconds of scoring the exact model, which is not in the plan."""
        judged = [stage.record for stage in self.stages if stage.kind.name == SCORE]
        scores = [record for record in judged if record]
        found = [stage.record["support"] for stage in self.stages if "support" in stage.record]
        has_model = any(stage.kind.name == MODEL for stage in self.stages)
        if not (scores and found) or has_model or "measured" not in self.plan:
            return 0.0
        values: float = scores[-1]["rows"] * found[-1]
        return values * float(self.plan["measured"]["value_seconds"])

    def _recent_stages(self) -> list[StageProgress]:
        """Return the stages whose times are used for others: of rounds the latest ones."""
        found, rounds = [], 0
        for stage in reversed(self.stages):
            rounds += stage.kind.until_tolerance
            if not stage.kind.until_tolerance or rounds <= LAST_ROUNDS:
                found.append(stage)
        return found
