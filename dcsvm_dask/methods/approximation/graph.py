"""Kernel approximations: a feature map, features by chunk, a linear SVM over them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from dcsvm_dask.checks import check
from dcsvm_dask.kernels import kernels_with_map
from dcsvm_dask.methods.approximation import features
from dcsvm_dask.methods.approximation import linear_svm as linear_machine
from dcsvm_dask.methods.forecast import Forecast, largest
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Keep, Layer, Node, Outcome, Stage, Stages, many, single
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan
from dcsvm_dask.methods.stages import merge_stage, scored
from dcsvm_dask.numbers import counted
from dcsvm_dask.parameters import parameter
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.tasks import SUPERVISED, TASKS, Regression, Task

LOSSES = ("hinge", "squared_hinge")
REGRESSION_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
MODEL = StageId.about("model", "linear")
# Features of a task.
PART_BYTES = 64 << 20
# How often the pieces in which features are read are halved, at most, to fit a worker.
MOST_HALVINGS = 12
# Passes over the rows of a typical linear machine; those with bounds for real targets take more.
PASSES, PASSES_OF_TARGETS = 150, 600
# Seconds of a core for a feature of a row in a pass.
STEP_SECONDS = 1e-9
# How much longer it takes where features are read piece by piece, again for each pass.
PIECES_SLOWER = 16


@dataclass(frozen=True)
class Approximation(Options):
    """What all approximations have: the loss, and how the linear SVM reads its features."""

    has_basis: ClassVar[bool] = True
    """Whether features are kernel values with some rows."""
    loss: str | None = parameter(
        None,
        "loss of the linear SVM; of regression epsilon_insensitive where none is given",
        choices=(*LOSSES, *REGRESSION_LOSSES),
        default_text="hinge",
    )
    chunks: int = parameter(
        0, "pieces in which features are read to solve; 0: as few as fit a worker", least=0
    )

    def lighter(self) -> Iterator[Self]:
        """Yield these parameters, then others by which the same method takes ever less memory."""
        if self.chunks:
            yield self
        else:
            yield from (replace(self, chunks=2**i) for i in range(MOST_HALVINGS))

    @property
    def pieces(self) -> int:
        """Pieces in which features are read: all at once where nobody knows what fits."""
        return max(1, self.chunks)

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to."""
        return True

    def check_task(self, task: Task) -> None:
        """Refuse a loss that the task does not have."""
        if not task.has_classes:
            known = REGRESSION_LOSSES if isinstance(task, Regression) else ()
            wanted = " or ".join(known) or "left out"
            check(self.loss in (None, *known), "loss", self.loss, f"{wanted} for {task.name}")

    def of_task(self, task: Task) -> Self:
        """Return these parameters with the loss: hinge for classes, else that of the task."""
        if task.has_classes:
            return replace(self, loss=self.loss or LOSSES[0])
        return replace(self, loss=task.loss if isinstance(task, Regression) else None)

    outputs_word: ClassVar[str]
    """The parameter that says how many features a row has, at most."""

    @property
    def outputs_wanted(self) -> int:
        """Features of a row, at most."""
        return int(getattr(self, self.outputs_word))

    def check_kernel(self, name: str) -> None:
        """Refuse a kernel that the map is not made for."""
        check(name in self.kernels, "kernel", name, f"one of {', '.join(self.kernels)} here")

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that the map is made for."""
        raise NotImplementedError


@dataclass(frozen=True)
class Nystrom(Approximation):
    """Nystrom features (LLSVM)."""

    outputs_word = "rank"
    rank: int = parameter(1000, "landmarks", least=1)
    landmarks: str = parameter(
        "kmeans", "centres of k-means, or random rows", choices=("kmeans", "random")
    )

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that the map is made for: those that are positive semi-definite."""
        return kernels_with_map("nystrom")


@dataclass(frozen=True)
class Fourier(Approximation):
    """Random Fourier features, or Fastfood's."""

    has_basis = False
    outputs_word = "outputs"
    outputs: int = parameter(2000, "features: a cosine and a sine for each frequency", least=2)
    structured: bool = parameter(False, "Fastfood: frequencies by products of Hadamard matrices")

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.outputs % 2 == 0, "outputs", self.outputs, "even")

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that the map is made for."""
        return kernels_with_map("fastfood" if self.structured else "fourier")


@dataclass(frozen=True)
class Ltpu(Approximation):
    """Locally tuned processing units."""

    outputs_word = "centres"
    centres: int = parameter(1000, "centres of k-means", least=1)
    neighbours: int = parameter(0, "nearest centres that give a width; 0: all have gamma", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that the map is made for."""
        return kernels_with_map("ltpu")


KINDS: dict[str, type[Approximation]] = {"nystrom": Nystrom, "fourier": Fourier, "ltpu": Ltpu}


def approximation(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield the graph of a feature map, its features and the linear SVM over them.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    made = linear_stage(settings, goals, shape)
    records = yield [
        merge_stage(),
        map_stage(settings),
        features_stage(settings, shape),
        *scored(made, shape),
    ]
    return Outcome(made.name, records[made.name]["solved"])


def options_of(settings: Settings) -> Approximation:
    """Return the method's own parameters."""
    return KINDS[settings.method](**settings.options)


def map_stage(settings: Settings) -> Stage:
    """Return the stage that makes the map."""
    fit = single(COMMIT, features.fit_map, rule=settings.method, how=dict(settings.options))
    return Stage(features.MAP, (fit,), "map")


def features_stage(settings: Settings, shape: Shape) -> Stage:
    """Return the stage that writes the features of all rows."""
    parts = feature_parts(settings, shape)
    layers = (
        many("transform", features.transform_share, parts, "part", keep=Keep.RUN, parts=parts),
        single(COMMIT, features.commit_features, parts=parts),
    )
    return Stage(features.FEATURES, layers, "features")


def feature_parts(settings: Settings, shape: Shape) -> int:
    """Return into how many tasks the features are shared."""
    options = options_of(settings)
    size = 4 * shape.n_variables * options.outputs_wanted
    return min(shape.n_variables, max(options.pieces, math.ceil(size / PART_BYTES)))


def linear_stage(settings: Settings, goals: Goals, shape: Shape) -> Stage:
    """Return the stage that trains the linear SVM.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    options = options_of(settings)
    parts = feature_parts(settings, shape)
    arguments = {
        "parts": parts,
        "chunks": min(options.pieces, parts),
        "loss": options.loss,
        "tol": goals.tol,
    }
    commit = Node(COMMIT, linear_machine.solve_weights, arguments)
    return Stage(MODEL, (Layer(COMMIT, (commit,), Keep.ALWAYS),), "linear")


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take."""
    settings, shape, n = sizes.settings, sizes.shape, sizes.n
    options = options_of(settings)
    outputs = options.outputs_wanted
    every = 4.0 * n * outputs
    parts = feature_parts(settings, shape)
    values = float(n) * outputs if options.has_basis else 0.0
    fitted = sizes.fixed(24.0 * outputs**2 + 60 * outputs * sizes.row)
    if not options.has_basis:
        fitted = sizes.fixed(8.0 * outputs * max(1.0, sizes.row / 4))
    # A piece (one of several is copied, to stand beside rows of the others), and what is being
    # read of it, packed and unpacked, with what was before it.
    copies = 1.0 if options.pieces == 1 else 2.2
    reading = copies * every / options.pieces + 3.0 * every / parts
    has_classes = TASKS[settings.task].has_classes
    held = sizes.fixed(reading + (60.0 if has_classes else 120.0) * n)
    is_quick = has_classes or settings.make_task().product_range is None
    passes = PASSES if is_quick else PASSES_OF_TARGETS
    row_seconds = passes * STEP_SECONDS * outputs * (PIECES_SLOWER if options.pieces > 1 else 1)
    fewer = f"lower -P {options.outputs_word}"
    return [
        merging_plan(sizes),
        StagePlan(map_stage(settings), fitted, 0.0, 8.0 * outputs**2, remedy=fewer),
        StagePlan(
            features_stage(settings, shape),
            largest(fitted, sizes.fixed(2.0 * every / parts + sizes.row * n / parts)),
            values,
            every,
            remedy=fewer,
        ),
        StagePlan(
            linear_stage(settings, goals, shape),
            held,
            0.0,
            8.0 * outputs,
            core_seconds=n * row_seconds,
            remedy=f"raise -P chunks above {options.pieces}",
        ),
    ]


def _describe_map(record: Record) -> str:
    return f"{record['outputs']} features a row"


def _describe_features(record: Record) -> str:
    return f"features of {record['rows']} rows in {counted(record['parts'], 'part')}"


STAGES = (
    StageKind(features.MAP, _describe_map),
    StageKind(features.FEATURES, _describe_features),
)

METHODS = (
    Method(
        "nystrom",
        "a linear SVM over Nystrom features (LLSVM; Williams, Seeger 2001)",
        approximation,
        plan_stages,
        Nystrom,
        STAGES,
        tasks=SUPERVISED,
        compiles=("linear_svm",),
    ),
    Method(
        "fourier",
        "a linear SVM over random Fourier features (Rahimi, Recht 2007) or Fastfood's",
        approximation,
        plan_stages,
        Fourier,
        STAGES,
        tasks=SUPERVISED,
        compiles=("linear_svm",),
    ),
    Method(
        "ltpu",
        "locally tuned processing units (Moody, Darken 1989): weights over centres of k-means",
        approximation,
        plan_stages,
        Ltpu,
        STAGES,
        tasks=SUPERVISED,
        compiles=("linear_svm",),
    ),
)
