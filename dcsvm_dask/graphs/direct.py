"""Methods of one task: LaSVM (Bordes et al. 2005)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from dcsvm_dask.checks import check
from dcsvm_dask.graphs.dcsvm import merge_stage, scored
from dcsvm_dask.graphs.forecast import Forecast
from dcsvm_dask.graphs.goals import Goals, Shape
from dcsvm_dask.graphs.graph import COMMIT, Method, Outcome, Stage, single
from dcsvm_dask.graphs.options import Options, option, whole
from dcsvm_dask.graphs.stage_plan import StagePlan, merging_plan
from dcsvm_dask.steps import direct
from dcsvm_dask.steps.node import Step
from dcsvm_dask.steps.settings import Settings


@dataclass(frozen=True)
class OneTask(Options, ABC):
    """A method whose training is one task."""

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to."""
        return True

    @property
    @abstractmethod
    def step(self) -> Step:
        """What the task does."""

    @abstractmethod
    def arguments(self, goals: Goals) -> dict[str, Any]:
        """Return the step's keyword arguments."""

    @abstractmethod
    def takes(self, sizes: Forecast) -> tuple[float, float]:
        """Return the bytes of the task's largest arrays beside rows, and its kernel values."""


@dataclass(frozen=True)
class Online(OneTask):
    """LaSVM."""

    passes: int = option(1, "passes over the rows, at most")
    samples: int = option(1, "rows of which the one most on the wrong side is taken; 1: random")

    def __post_init__(self) -> None:
        whole(self, "passes", 1)
        whole(self, "samples", 1)
        check(self.samples <= 256, "samples", self.samples, "at most 256")

    @property
    def step(self) -> Step:
        """What the task does."""
        return direct.learn_online

    def arguments(self, goals: Goals) -> dict[str, Any]:
        """Return the step's keyword arguments."""
        return {"passes": self.passes, "samples": self.samples, "tol": goals.tol}

    def takes(self, sizes: Forecast) -> tuple[float, float]:
        """Return the bytes of the task's largest arrays beside rows, and its kernel values."""
        cache = 8.0 * min(sizes.settings.block_cap**2, sizes.n**2)
        return cache + 1200 * sizes.support, self.passes * self.samples * sizes.n * sizes.support


KINDS: dict[str, type[OneTask]] = {"online": Online}


def one_task(settings: Settings, goals: Goals, shape: Shape) -> Method:
    """Yield the graph: rows are merged, the machine is trained."""
    stage = task_stage(settings, goals)
    records = yield [merge_stage(), *scored(stage, shape)]
    return Outcome(stage.name, records[stage.name]["solved"])


def task_stage(settings: Settings, goals: Goals) -> Stage:
    """Return the stage of the one task."""
    options = KINDS[settings.method](**settings.options)
    layers = (single(COMMIT, options.step, **options.arguments(goals)),)
    return Stage(f"model-{settings.method}", layers, settings.method)


def lay_out(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take."""
    options = KINDS[sizes.settings.method](**sizes.settings.options)
    held, values = options.takes(sizes)
    need = sizes.fixed(held + 2.0 * sizes.shape.n_bytes + 60.0 * sizes.n)
    written = sizes.support * (sizes.row + 8)
    return [
        merging_plan(sizes),
        StagePlan(task_stage(sizes.settings, goals), need, values, written),
    ]
