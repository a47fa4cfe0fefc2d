"""The parameters of dual coordinate descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

from dcsvm_dask.checks import check
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.linear.options import FEATURE_VALUE, LinearOptions
from dcsvm_dask.methods.linear.step import usual_step
from dcsvm_dask.parameters import parameter
from dcsvm_dask.solvers.linear.problem import Bias
from dcsvm_dask.solvers.linear.visits import Order
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.tasks import Classification, Task

FEATURE, FREE = get_args(Bias)
AUTO, ONE_VS_REST, CRAMMER_SINGER = "auto", "ovr", "crammer_singer"
# How often the pieces in which rows are read are halved, at most, to fit a worker.
MOST_HALVINGS = 12


@dataclass(frozen=True)
class Descent(LinearOptions):
    """How rows are shared and read, and what SVMs of many classes have in common."""

    constant: float | None = parameter(
        None,
        "with a bias: the constant feature, as intercept_scaling; of a free one its step",
        above=0,
        default_text=f"{FEATURE_VALUE:g}; of a free bias a third of the usual length of a row",
    )
    bias: str = parameter(
        FEATURE,
        "the bias is the weight of the constant feature, regularised; or free, as in LIBSVM, and "
        "the constant is the step by which it is found",
        choices=get_args(Bias),
    )
    chunks: int = parameter(
        0, "pieces in which a task reads its rows; 0: as few as fit a worker", least=0
    )

    order: str = parameter(
        "shuffled",
        "order of the rows in a pass: shuffled anew, fixed, or drawn (Algorithm 2 of the paper)",
        choices=get_args(Order),
    )
    shrinking: bool = parameter(True, "let rows rest that stay at a bound")
    multi_class: str = parameter(
        AUTO,
        "of more than two classes an SVM of each against the rest, or one problem of all, as "
        "LinearSVC has them; auto: SVMs by --multiclass",
        choices=(AUTO, ONE_VS_REST, CRAMMER_SINGER),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_joint:
            for name, holds, wanted in (
                ("parts", self.parts <= 1, "0 or 1"),
                ("chunks", self.chunks <= 1, "0 or 1"),
                ("order", self.order == "shuffled", "shuffled"),
                ("shrinking", self.shrinking, "true"),
                ("bias", self.bias == FEATURE, FEATURE),
            ):
                wanted = f"{wanted} with multi-class {CRAMMER_SINGER}: leave it out"
                check(holds, name, getattr(self, name), wanted)

    @property
    def is_joint(self) -> bool:
        """Whether all classes share one problem, that of Crammer and Singer."""
        return self.multi_class == CRAMMER_SINGER

    @property
    def compiles(self) -> tuple[str, ...]:
        """What is compiled for these parameters beside what the method needs."""
        if self.is_joint:
            return ("classes",)
        return ("free_bias",) if self.bias == FREE else ()

    def check_bias(self, fit_intercept: bool) -> None:
        """Refuse a free bias where there is none."""
        if self.bias == FREE and not fit_intercept:
            raise InputError(
                f"bias: {FREE} is for a problem with a bias, and this one has none; add "
                "--fit-intercept (in files and Python: fit_intercept = true), or leave out bias"
            )

    def check_task(self, task: Task) -> None:
        """Refuse the squared hinge loss for the problem of all classes, and tasks without."""
        if self.multi_class == AUTO:
            return
        if not isinstance(task, Classification):
            raise InputError(
                f"multi-class: {self.multi_class} is for classes, and {task.name} learns numbers; "
                "leave it out"
            )
        if self.is_joint and task.squared:
            raise InputError(
                f"multi-class: {CRAMMER_SINGER} has the hinge loss only, got {task.loss}; leave "
                f"out the loss, or give multi-class {ONE_VS_REST}"
            )

    def check_classes(self, number: int) -> None:
        """Refuse the problem of all classes where they are two."""
        if self.is_joint and number == 2:
            raise InputError(
                f"multi-class: {CRAMMER_SINGER} is for more than two classes, got 2, for which it "
                "is the one SVM with twice C; leave it out, and double C for the same model"
            )

    def scheme_of(self, multiclass: str) -> str:
        """Return the scheme: with either value of `multi_class` the largest of k values wins."""
        return multiclass if self.multi_class == AUTO else ONE_VS_REST

    def linear_parameters(self, task: Task) -> dict[str, Any] | None:
        """Return what scikit-learn's linear SVMs call parameters like these."""
        found = super().linear_parameters(task)
        if found is not None and self.is_joint:
            found["multi_class"] = CRAMMER_SINGER
        if found is not None and self.bias == FREE:
            # They have no such parameter: trained again, they would regularise the bias.
            del found["intercept_scaling"]
        return found

    def of_task(self, task: Task) -> Self:
        """Return these parameters with the constant feature; the step of a free bias is left."""
        return self if self.bias == FREE else super().of_task(task)

    def of_data(self, data: Data) -> Self:
        """Return these parameters with the step of a free bias, by the length of the rows."""
        if self.bias != FREE or self.constant is not None:
            return self
        return replace(self, constant=usual_step(data))

    def lighter(self) -> Iterator[Self]:
        """Yield these parameters, then others by which the same method takes ever less memory."""
        if self.chunks or self.is_joint:
            yield self
        else:
            yield from (replace(self, chunks=2**i) for i in range(MOST_HALVINGS))
