"""The base class of the parameters that a method has of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from dcsvm_dask.parameters import check_parameters
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.tasks import Task


@dataclass(frozen=True)
class Options:
    """Base class of the parameters of a method: frozen dataclasses of JSON values.

    Their fields are made by `dcsvm_dask.parameters.parameter`, which has their ranges; relations
    between parameters are checked by subclasses.
    """

    losses: ClassVar[tuple[str, ...] | None] = None
    """The losses that the method has; None: all that its tasks have."""
    solves: ClassVar[bool] = True
    """Whether dual problems are solved to a tolerance, by blocks and working sets; reports leave
    these parameters and the objective of the others out."""

    largest_value: ClassVar[float] = math.inf
    """The largest size of a feature that the method takes."""

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def least_rows(self) -> int:
        """Distinct rows that there have to be."""
        return 1

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to.

        Or by a rule of its own: what is exact here has a violation that was measured.
        """
        return False

    @property
    def refines(self) -> bool:
        """Whether a run can go on from its answer to that of another tolerance."""
        return not self.approximates

    @property
    def is_joint(self) -> bool:
        """Whether all classes share one problem, of which each SVM otherwise has its own."""
        return False

    @property
    def compiles(self) -> tuple[str, ...]:
        """What is compiled for these parameters beside what the method needs; see `Method`."""
        return ()

    @property
    def takes_weights(self) -> bool:
        """Whether the method trains on rows that have weights."""
        return True

    def linear_parameters(self, task: Task) -> dict[str, Any] | None:
        """Return what scikit-learn's linear SVMs call parameters like these; None: they lack it.

        Those that a task and every training have are not among them.
        """
        del task
        return None

    def check_kernel(self, name: str) -> None:
        """Refuse a kernel that the method is not made for; by default none.

        Raises
        ------
        InputError
        """

    def check_bias(self, fit_intercept: bool) -> None:
        """Refuse a problem with or without a bias; by default neither.

        Raises
        ------
        InputError
        """

    def check_task(self, task: Task) -> None:
        """Refuse a task for which these parameters mean nothing; by default none.

        Raises
        ------
        InputError
        """

    def check_classes(self, number: int) -> None:
        """Refuse a number of classes for which these parameters mean nothing; by default none.

        Raises
        ------
        InputError
        """

    def scheme_of(self, multiclass: str) -> str:
        """Return the scheme of more than two classes, given that of the training."""
        return multiclass

    def of_task(self, task: Task) -> Self:
        """Return these parameters where those that depend on the task are not given."""
        del task
        return self

    def of_data(self, data: Data) -> Self:
        """Return these parameters where those that depend on the rows are not given.

        Parameters
        ----------
        data : DataSet or SampledDataSet
            The rows that are trained on.
        """
        del data
        return self

    def check_installed(self) -> None:
        """Refuse to begin where something is missing that the method needs; by default nothing.

        Raises
        ------
        InputError
        """

    def lighter(self) -> Iterator[Self]:
        """Yield these parameters, then others by which the same method takes ever less memory."""
        yield self

    def to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class NoOptions(Options):
    """Those of a method that has none."""
