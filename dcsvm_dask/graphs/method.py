"""A method of training: one object that says all that others ask of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dcsvm_dask.graphs.goals import Goals, Shape
from dcsvm_dask.graphs.graph import Stages
from dcsvm_dask.graphs.options import NoOptions, Options
from dcsvm_dask.steps.settings import Settings

if TYPE_CHECKING:  # they know methods
    from dcsvm_dask.graphs.forecast import Forecast
    from dcsvm_dask.graphs.stage_plan import StagePlan


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
    has_levels : bool
        Whether it trains levels of clusters before the exact model.
    sets_levels : bool
        Whether levels, their number and where to stop are parameters of it.
    many_classes : bool
        Whether it trains on more than two classes.
    whole_problem : bool
        Whether its objective is that of the dual problem of all rows, which methods share.
    compiles : tuple of str
        What is compiled for it beside what all need: parameters of `warm_up`.
    """

    name: str
    about: str
    run: Callable[[Settings, Goals, Shape], Stages]
    plan: Callable[[Forecast, Goals], list[StagePlan]]
    options: type[Options] = NoOptions
    has_levels: bool = False
    sets_levels: bool = False
    many_classes: bool = False
    whole_problem: bool = False
    compiles: tuple[str, ...] = ()
