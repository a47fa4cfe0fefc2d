"""A random share of the rows, solved exactly: what the others have to be better than."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.methods.dcsvm.graph import dcsvm
from dcsvm_dask.methods.dcsvm.method import STAGES
from dcsvm_dask.methods.dcsvm.plan import plan_stages
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.options import Options
from dcsvm_dask.parameters import parameter
from dcsvm_dask.tasks import TASKS


@dataclass(frozen=True)
class Subsample(Options):
    """How much of the data is looked at."""

    fraction: float = parameter(0.1, "share of the rows", above=0, most=1)

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to."""
        return True

    @property
    def refines(self) -> bool:
        """Whether a run can go on from its answer to that of another tolerance."""
        return True


METHOD = Method(
    "subsample",
    "the exact model of a random share of the rows, by divide and conquer",
    dcsvm,
    plan_stages,
    Subsample,
    STAGES,
    has_levels=True,
    tasks=tuple(TASKS),
)
