"""What a method of training is: one object that has all that other modules need to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import Stages
from dcsvm_dask.methods.options import NoOptions, Options
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stage_plan import StagePlan


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
