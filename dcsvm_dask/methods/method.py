"""What a method of training is: one object that says all that others ask of it.

Its options are parameters of its own; goals and shape are what it is told of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dcsvm_dask.methods.graph import Stages
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.parameters import check_parameters
from dcsvm_dask.tasks import Task


@dataclass(frozen=True, slots=True)
class Goals:
    """What may change between resumes: how far the run goes."""

    tol: float
    """Violation of the exact model."""
    stop_at: int
    """The level at which the run ends; 0 goes on to the exact model."""
    max_rounds: int
    """Most conquer rounds."""
    committee: bool = False
    """Whether levels are calibrated for committee prediction."""
    early: bool = False
    """Whether there is to be an early model in any regime: this process may not reach the end."""

    def to_json(self) -> dict[str, Any]:
        """Return what the run's folder keeps of them."""
        return {key: value for key, value in asdict(self).items() if key != "early"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a graph needs to know of the data."""

    n_rows: int
    n_variables: int
    """Rows after those equal in x and y were merged."""
    n_bytes: int
    """Size of the rows in memory."""
    holdout: bool = False
    """Whether every model is scored on held-out rows."""
    class_rows: tuple[int, ...] = ()
    """Rows of each class, where there are more than two."""
    n_features: int = 0
    """0 in runs that do not say it."""
    sparse: bool = False
    """Whether rows are CSR; False in runs that do not say it."""

    @classmethod
    def of(cls, value: dict[str, Any]) -> Shape:
        """Return the shape that a run's header holds."""
        return cls(**{**value, "class_rows": tuple(value.get("class_rows", ()))})


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


if TYPE_CHECKING:  # they know methods
    from dcsvm_dask.methods.forecast import Forecast
    from dcsvm_dask.methods.stage_plan import StagePlan
    from dcsvm_dask.storage.dataset_sample import Data


def never(settings: Settings, shape: Shape) -> bool:
    """Return that a run is not the solution of one working set."""
    del settings, shape
    return False


@dataclass(frozen=True, slots=True)
class Method:
    """A method of training.

    Parameters
    ----------
    name : str
        What `method` is set to.
    about : str
        What it is, in a line.
    run : callable
        Begins the generator of its graphs.
    plan : callable
        Returns its stages before they run, with what each takes.
    options : type of Options
        The parameters that it has beside those of every method.
    stages : tuple of StageKind
        Kinds of stages that it has beside those that any method may have.
    has_levels : bool
        Whether it trains levels of clusters before the exact model.
    sets_levels : bool
        Whether levels, their number and where to stop are parameters of it.
    many_classes : bool
        Whether it trains on more than two classes.
    tasks : tuple of str
        What it can learn: names of `dcsvm_dask.tasks.TASKS`.
    whole_problem : bool
        Whether its objective is that of the dual problem of all rows, which methods share.
    is_timed : bool
        Whether ``dcsvm plan`` probes its rows, although its runs begin without a probe.
    compiles : tuple of str
        What is compiled for it beside what all need: parameters of `warm_up`.
    is_one_set : callable
        Whether a run is the solution of one working set, for which less is compiled.
    """

    name: str
    about: str
    run: Callable[[Settings, Goals, Shape], Stages]
    plan: Callable[[Forecast, Goals], list[StagePlan]]
    options: type[Options] = NoOptions
    stages: tuple[StageKind, ...] = ()
    has_levels: bool = False
    sets_levels: bool = False
    many_classes: bool = False
    tasks: tuple[str, ...] = ("classification",)
    whole_problem: bool = False
    is_timed: bool = False
    compiles: tuple[str, ...] = ()
    is_one_set: Callable[[Settings, Shape], bool] = never
