"""The parameters of methods of linear SVMs, and how many SVMs a run has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from dcsvm_dask.checks import check
from dcsvm_dask.kernels import KERNELS
from dcsvm_dask.kernels.rows import LARGEST_VALUE
from dcsvm_dask.methods.machines import has_several, machines_for
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.parameters import parameter
from dcsvm_dask.tasks import Classification, Regression, Task

FEATURE_VALUE = 1.0


@dataclass(frozen=True)
class LinearOptions(Options):
    """How rows have a bias and are shared."""

    largest_value: ClassVar[float] = LARGEST_VALUE

    constant: float | None = parameter(
        None,
        "with a bias: the constant feature, as intercept_scaling",
        above=0,
        default_text=f"{FEATURE_VALUE:g}",
    )
    parts: int = parameter(
        0, "parts of the rows that tasks work on side by side; 0: by the size of the data", least=0
    )

    @property
    def feature(self) -> float:
        """The constant feature of a problem with a bias."""
        return FEATURE_VALUE if self.constant is None else self.constant

    def of_task(self, task: Task) -> Self:
        """Return these parameters with the constant feature."""
        del task
        return replace(self, constant=self.feature)

    def linear_parameters(self, task: Task) -> dict[str, Any] | None:
        """Return what scikit-learn's linear SVMs call parameters like these."""
        if not isinstance(task, Classification | Regression):
            return None
        return {"loss": task.loss, "dual": True, "intercept_scaling": self.feature}

    def check_kernel(self, name: str) -> None:
        """Refuse any kernel but the linear one."""
        check(KERNELS[name].is_linear, "kernel", name, "linear here: add --kernel linear")


def number_of_svms(settings: Settings, shape: Shape) -> int:
    """Return how many SVMs a run has: of several classes or quantiles more than one."""
    n_classes = len(shape.class_rows)
    return len(machines_for(settings, n_classes)) if has_several(settings, n_classes) else 1
