"""The parameters of methods of linear SVMs, and how many SVMs a run has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dcsvm_dask.checks import check
from dcsvm_dask.kernels import KERNELS
from dcsvm_dask.methods.method import Options, Shape
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.several import has_several, machines_for
from dcsvm_dask.parameters import parameter
from dcsvm_dask.tasks import Classification, Regression, Task


@dataclass(frozen=True)
class LinearOptions(Options):
    """How rows have a bias and are shared."""

    constant: float = parameter(
        1.0, "with a bias: the constant feature, as intercept_scaling", above=0
    )
    parts: int = parameter(
        0, "parts of the rows that tasks work on side by side; 0: by the size of the data", least=0
    )

    def linear_parameters(self, task: Task) -> dict[str, Any] | None:
        """Return what scikit-learn's linear SVMs call parameters like these."""
        if not isinstance(task, Classification | Regression):
            return None
        return {"loss": task.loss, "dual": True, "intercept_scaling": self.constant}

    def check_kernel(self, name: str) -> None:
        """Refuse any kernel but the linear one."""
        check(KERNELS[name].is_linear, "kernel", name, "linear here: add --kernel linear")


def number_of_svms(settings: Settings, shape: Shape) -> int:
    """Return how many SVMs a run has: of several classes or quantiles more than one."""
    n_classes = len(shape.class_rows)
    return len(machines_for(settings, n_classes)) if has_several(settings, n_classes) else 1
