"""Bagging: SVMs of random samples side by side, that vote (Breiman 1996).

The committee that they may form is Tresp's (2000).
"""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.checks import check
from dcsvm_dask.methods.bagging import nodes as bag
from dcsvm_dask.methods.forecast import Forecast, largest
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Outcome, Stage, Stages, many, single
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.sizes import level_slots
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan
from dcsvm_dask.methods.stages import merge_stage, scored
from dcsvm_dask.models.model import VOTES
from dcsvm_dask.parameters import parameter
from dcsvm_dask.storage.stage_id import MODEL, StageId
from dcsvm_dask.tasks import ONE_CLASS, SUPERVISED, WITH_COMMITTEE, Task

STAGE = StageId.about(MODEL, "bag")


@dataclass(frozen=True)
class Bagging(Options):
    """How many SVMs, what each sees, how they decide together."""

    members: int = parameter(16, "SVMs, each of n / members rows", least=1)
    replace: bool = parameter(False, "draw with replacement; else the SVMs share all rows out")
    vote: str = parameter(
        "mean", "mean of decision values, or of their signs; or a committee", choices=VOTES
    )

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to."""
        return True

    @property
    def least_rows(self) -> int:
        """Distinct rows that there have to be."""
        return self.members

    @property
    def takes_weights(self) -> bool:
        """Whether the method trains on rows that have weights: it draws whole rows."""
        return False

    def check_task(self, task: Task) -> None:
        """Refuse votes that only classes have, for a task without classes."""
        votes = VOTES if task.has_classes else votes_of(task)
        check(self.vote in votes, "vote", self.vote, f"{' or '.join(votes)} for {task.name}")

    def __post_init__(self) -> None:
        super().__post_init__()
        alone = self.vote == "committee" and self.members < 2
        check(not alone, "members", self.members, "at least 2 for a committee: one sees all rows")


def votes_of(task: Task) -> tuple[str, ...]:
    """Return how SVMs of a task without classes decide together."""
    return ("mean", "committee") if task.name in WITH_COMMITTEE else ("mean",)


def bagging(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield the graph of a bag of SVMs.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    return (yield from bag_of(Bagging(**settings.options), goals, shape))


def bag_of(options: Bagging, goals: Goals, shape: Shape) -> Stages:
    """Yield the graph of a bag.

    Parameters
    ----------
    options : Bagging
    goals : Goals
    shape : Shape
    """
    records = yield [merge_stage(), *scored(bag_stage(options, goals, shape), shape)]
    return Outcome(STAGE, records[STAGE]["members_converged"])


def bag_stage(options: Bagging, goals: Goals, shape: Shape) -> Stage:
    """Return the stage that trains the SVMs of a bag.

    Parameters
    ----------
    options : Bagging
    goals : Goals
    shape : Shape
    """
    slots = level_slots(options.members, shape.n_variables)
    layers = (
        many(
            bag.LAYER,
            bag.train_members,
            slots,
            "slot",
            slots=slots,
            members=options.members,
            replace=options.replace,
            calibrate=options.vote == "committee",
            tol=goals.tol,
        ),
        single(
            COMMIT,
            bag.commit_bag,
            stage=STAGE,
            slots=slots,
            members=options.members,
            vote=options.vote,
        ),
    )
    return Stage(STAGE, layers, "bag")


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take."""
    return plan_bag(sizes, goals, Bagging(**sizes.settings.options))


def plan_bag(sizes: Forecast, goals: Goals, options: Bagging) -> list[StagePlan]:
    """Return the stages of a bag with what they take."""
    rows = sizes.n / options.members
    drawing = sizes.fixed(24 * sizes.shape.n_rows)
    need = largest(sizes.solving(rows, rows, 24 * sizes.shape.n_rows), drawing)
    written = sizes.support * (sizes.row + 16)
    stage = bag_stage(options, goals, sizes.shape)
    return [
        merging_plan(sizes),
        StagePlan(stage, need, sizes.n * rows, 2 * written),
    ]


METHOD = Method(
    "bagging",
    "bagging (Breiman 1996): SVMs of random samples that vote",
    bagging,
    plan_stages,
    Bagging,
    tasks=(*SUPERVISED, ONE_CLASS),
)
