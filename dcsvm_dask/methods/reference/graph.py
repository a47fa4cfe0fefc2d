"""The SVMs that others are measured by: scikit-learn's SVC (LIBSVM), LinearSVC (LIBLINEAR)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from dcsvm_dask.checks import check
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import KERNELS, kernels_of_libsvm
from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Outcome, Stage, Stages, single
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.node import Step
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.reference import nodes as steps
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan
from dcsvm_dask.methods.stages import merge_stage, scored
from dcsvm_dask.models.svc import require_sklearn
from dcsvm_dask.parameters import parameter
from dcsvm_dask.storage.stage_id import MODEL, StageId
from dcsvm_dask.tasks import Task

LOSSES = ("hinge", "squared_hinge")
# Seconds of a core for each pair of a row and a support vector: typical of all that LIBSVM does,
# and what is added where its cache does not have the pair's kernel value.
PAIR_SECONDS, MISSED_SECONDS = 5e-8, 2e-7
# Seconds of a core for each value of the rows in all passes of LIBLINEAR, which shrinks.
VALUE_SECONDS = 1e-7
# What scikit-learn takes by itself, once in a process.
IMPORT_BYTES, IMPORT_SECONDS = 130 << 20, 1.2
# Times the rows: they, and what LIBSVM or LIBLINEAR makes of them in float64.
SVC_COPIES, LINEAR_COPIES = 4.5, 7.0


@dataclass(frozen=True)
class Reference(Options, ABC):
    """A method whose training is one call of scikit-learn."""

    remedy: ClassVar[str | None] = None
    """What to change where its memory does not suffice."""

    @property
    def approximates(self) -> bool:
        """Whether nobody measures how exact the model is: it ends by a rule of its own."""
        return True

    def check_installed(self) -> None:
        """Refuse to begin without scikit-learn."""
        require_sklearn(f"method: {NAMES[type(self)]}")

    @property
    @abstractmethod
    def step(self) -> Step:
        """What the task does."""

    @abstractmethod
    def takes(self, sizes: Forecast) -> tuple[float, float, float]:
        """Return the bytes of the task, its kernel values, and seconds of its other work."""


@dataclass(frozen=True)
class Libsvm(Reference):
    """scikit-learn's SVC, which is LIBSVM."""

    remedy = "lower -P cache"
    losses = ("hinge", "epsilon_insensitive")
    cache: float = parameter(200.0, "megabytes for columns of the kernel matrix", above=0)
    shrinking: bool = parameter(True, "shrink variables that are likely to stay at a bound")

    def check_kernel(self, name: str) -> None:
        """Refuse a kernel that LIBSVM does not have."""
        known = kernels_of_libsvm()
        check(name in known, "kernel", name, f"one of {', '.join(known)} here")

    def check_bias(self, fit_intercept: bool) -> None:
        """Refuse a problem without a bias."""
        if not fit_intercept:
            raise InputError(
                "fit-intercept: libsvm's SVM always has a bias, without one it is another "
                "problem; add --fit-intercept (in files and Python: fit_intercept = true)"
            )

    @property
    def step(self) -> Step:
        """What the task does."""
        return steps.solve_libsvm

    def takes(self, sizes: Forecast) -> tuple[float, float, float]:
        """Return the bytes of the task, its kernel values, and seconds of its other work."""
        # LIBSVM returns support vectors in float64, and we read them for the objective.
        held = SVC_COPIES * sizes.shape.n_bytes + 5 * sizes.support * sizes.row
        cache, pairs = 2.0**20 * self.cache, sizes.n * sizes.support
        held += min(cache, 4.0 * sizes.n**2) + 150.0 * sizes.n
        missed = max(0.0, pairs - cache / 4)
        return held, sizes.support**2, PAIR_SECONDS * pairs + MISSED_SECONDS * missed


@dataclass(frozen=True)
class Liblinear(Reference):
    """scikit-learn's LinearSVC, which is LIBLINEAR."""

    loss: str = parameter("hinge", "loss", choices=LOSSES)
    dual: bool = parameter(True, "dual coordinate descent; else Newton, for squared_hinge")
    constant: float = parameter(
        1.0, "with a bias: the constant feature, as intercept_scaling", above=0
    )
    max_iter: int = parameter(1000, "passes, at most", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.dual or self.loss == "squared_hinge", "dual", self.dual, "true for loss hinge")
        check(self.max_iter < 1 << 31, "max_iter", self.max_iter, "below 2^31")

    def linear_parameters(self, task: Task) -> dict[str, Any]:
        """Return what scikit-learn's linear SVMs call parameters like these."""
        del task
        return {
            "loss": self.loss,
            "dual": self.dual,
            "intercept_scaling": self.constant,
            "max_iter": self.max_iter,
        }

    def check_kernel(self, name: str) -> None:
        """Refuse any kernel but the linear one."""
        check(KERNELS[name].is_linear, "kernel", name, "linear here: add --kernel linear")

    @property
    def step(self) -> Step:
        """What the task does."""
        return steps.solve_liblinear

    def takes(self, sizes: Forecast) -> tuple[float, float, float]:
        """Return the bytes of the task, its kernel values, and seconds of its other work."""
        held = LINEAR_COPIES * sizes.shape.n_bytes + 150.0 * sizes.n
        return held, float(sizes.n), VALUE_SECONDS * sizes.shape.n_bytes / 4


KINDS: dict[str, type[Reference]] = {"libsvm": Libsvm, "liblinear": Liblinear}
NAMES = {kind: name for name, kind in KINDS.items()}


def reference(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield the graph: rows are merged, scikit-learn trains the machine."""
    stage = reference_stage(settings, goals)
    yield [merge_stage(), *scored(stage, shape)]
    return Outcome(stage.name, converged=False)  # nobody has looked at all rows


def reference_stage(settings: Settings, goals: Goals) -> Stage:
    """Return the stage of the one task."""
    arguments: dict[str, Any] = {**settings.options, "tol": goals.tol}
    layers = (single(COMMIT, KINDS[settings.method](**settings.options).step, **arguments),)
    return Stage(StageId.about(MODEL, settings.method), layers, settings.method)


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take, about."""
    settings = sizes.settings
    held, values, seconds = KINDS[settings.method](**settings.options).takes(sizes)
    remedy = KINDS[settings.method].remedy
    return [
        merging_plan(sizes),
        StagePlan(
            reference_stage(settings, goals),
            sizes.fixed(IMPORT_BYTES + held),
            values,
            sizes.support * (sizes.row + 8),
            core_seconds=IMPORT_SECONDS + seconds,
            remedy=remedy,
        ),
    ]


METHODS = (
    Method(
        "libsvm",
        "scikit-learn's SVC or SVR, which is LIBSVM, in one task; to compare with",
        reference,
        plan_stages,
        Libsvm,
        whole_problem=True,
        tasks=("classification", "regression"),
    ),
    Method(
        "liblinear",
        "scikit-learn's LinearSVC, which is LIBLINEAR, in one task; to compare with",
        reference,
        plan_stages,
        Liblinear,
    ),
)
