"""Methods of one task: LaSVM (Bordes et al. 2005)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from dcsvm_dask.methods.forecast import Forecast, Need
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Outcome, Stage, Stages, single
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.node import Step
from dcsvm_dask.methods.online import nodes as direct
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.probe import LEARNED_ROWS
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan
from dcsvm_dask.methods.stages import merge_stage, probe_stage, scored
from dcsvm_dask.parameters import parameter
from dcsvm_dask.storage.stage_id import MODEL, StageId

# Of LaSVM, measured. Steps for each row and pass; of the rows kept at the end, those that a step
# meets on the average; the share of them whose kernel rows have to be cached so that few are made
# again; kernel values of the finish for each pair of them; time of a step for each of them.
STEPS, MEAN_KEPT, CACHED_WELL, FINISH, STEP_SECONDS = 2.5, 0.7, 0.45, 3.0, 1.2e-9
MADE_AGAIN = 0.4
"""Kernel rows made again for each step where few are cached, as shares of those at the end."""
LOOK_SECONDS = 1e-5
"""Time of a core for a row that is looked at, beside all else."""
SLACK = 1.25
"""Room for rows that are kept, for one that is there."""
ROW_OF_BATCH = 1200
"""Bytes of a batch's kernel values for each row that is kept, with what else there is of it."""
PROBED = 12
"""Bytes of a probe for each pair of its rows."""


class Takes(NamedTuple):
    """What a task takes, about."""

    n_bytes: float
    """Of its largest arrays beside rows, as is likely."""
    most: float
    """What these can come to."""
    kernel_values: float
    core_seconds: float = 0.0
    """Time of a core for anything else."""


@dataclass(frozen=True)
class OneTask(Options, ABC):
    """A method whose training is one task."""

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to."""
        return True

    @property
    def probed(self) -> bool:
        """Whether some rows are looked at first, so that the plan knows what to expect."""
        return False

    @property
    @abstractmethod
    def step(self) -> Step:
        """What the task does."""

    @abstractmethod
    def arguments(self, goals: Goals) -> dict[str, Any]:
        """Return the step's keyword arguments."""

    @abstractmethod
    def takes(self, sizes: Forecast) -> Takes:
        """Return what the task takes."""


@dataclass(frozen=True)
class Online(OneTask):
    """LaSVM."""

    losses = ("hinge",)

    passes: int = parameter(1, "passes over the rows, at most", least=1)
    samples: int = parameter(
        1, "random rows of which the worst violator is taken", least=1, most=256
    )

    @property
    def probed(self) -> bool:
        """Whether some rows are looked at first, so that the plan knows what to expect."""
        return True

    @property
    def step(self) -> Step:
        """What the task does."""
        return direct.learn_online

    def arguments(self, goals: Goals) -> dict[str, Any]:
        """Return the step's keyword arguments."""
        return {"passes": self.passes, "samples": self.samples, "tol": goals.tol}

    def takes(self, sizes: Forecast) -> Takes:
        """Return what the task takes: for passes, kernel rows computed again, the finish."""
        kept = max(1.0, sizes.n * sizes.measured.kept_share)
        looked, steps = self.passes * self.samples * sizes.n, STEPS * self.passes * sizes.n
        cached = _cache_bytes(sizes, kept) / (4.0 * SLACK * kept**2)
        again = MADE_AGAIN * steps * max(0.0, 1.0 - cached / CACHED_WELL)
        beside = SLACK * (ROW_OF_BATCH + 2 * sizes.row)
        return Takes(
            _cache_bytes(sizes, kept) + beside * kept,
            _cache_bytes(sizes, sizes.n) + beside * sizes.n,
            kept * (0.5 * looked + again + FINISH * kept),
            MEAN_KEPT * steps * kept * STEP_SECONDS + looked * LOOK_SECONDS,
        )


KINDS: dict[str, type[OneTask]] = {"online": Online}


def one_task(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield the graph: rows are merged, and one task trains the SVM.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    stage = task_stage(settings, goals)
    if KINDS[settings.method](**settings.options).probed:
        yield [probe_stage(learning=True)]
    records = yield [merge_stage(), *scored(stage, shape)]
    return Outcome(stage.name, records[stage.name]["solved"])


def task_stage(settings: Settings, goals: Goals) -> Stage:
    """Return the stage of the one task."""
    options = KINDS[settings.method](**settings.options)
    layers = (single(COMMIT, options.step, **options.arguments(goals)),)
    return Stage(StageId.about(MODEL, settings.method), layers, settings.method)


def _cache_bytes(sizes: Forecast, kept: float) -> float:
    """Return what LaSVM's kernel rows take where so many rows are kept."""
    return min(direct.room(sizes.settings), 4.0 * (SLACK * kept) ** 2)


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take."""
    options = KINDS[sizes.settings.method](**sizes.settings.options)
    takes = options.takes(sizes)
    beside = 2.0 * sizes.shape.n_bytes + 60.0 * sizes.n
    need = Need(int(takes.n_bytes + beside), int(takes.most + beside))
    written = sizes.support * (sizes.row + 8)
    task, first = task_stage(sizes.settings, goals), []
    if options.probed:
        probed = sizes.fixed(PROBED * min(LEARNED_ROWS, sizes.n) ** 2)
        first = [StagePlan(probe_stage(learning=True), probed, 0.0, 0.0)]
    return [
        *first,
        merging_plan(sizes),
        StagePlan(task, need, takes.kernel_values, written, core_seconds=takes.core_seconds),
    ]


METHOD = Method(
    "online",
    "LaSVM (Bordes, Ertekin, Weston, Bottou 2005): rows one by one, and a finish",
    one_task,
    plan_stages,
    Online,
    whole_problem=True,
    compiles=("online",),
)
