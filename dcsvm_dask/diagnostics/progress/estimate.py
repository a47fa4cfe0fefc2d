"""When a run is likely to end, from the stages that have been told of and the plan."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.diagnostics.progress.foreseen import MAYBE, correction, rounds_left, stage_left
from dcsvm_dask.diagnostics.progress.stage import DONE, WAITING, StageProgress
from dcsvm_dask.graphs.forecast import support_share
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import CHAINS, StageId

LAST_ROUNDS = 10
"""Rounds that tell how others will go; there may be hundreds."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is likely to be left of a run at some moment."""

    stages: list[StageProgress]
    """Those that have begun in their order, then those foretold."""
    plan: Record
    """See `dcsvm_dask.graphs.plan.Plan.to_json`; empty where nothing is foretold."""
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
