"""DC-SVM as a method: of two classes, or of more at once."""

from __future__ import annotations

from dcsvm_dask.methods.dcsvm import plan as dcsvm_plan
from dcsvm_dask.methods.dcsvm.classes import graph as classes
from dcsvm_dask.methods.dcsvm.graph import dcsvm
from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.graph import Stages
from dcsvm_dask.methods.method import Goals, Method, Shape
from dcsvm_dask.methods.settings import DEFAULT_METHOD, Settings
from dcsvm_dask.methods.stage_plan import StagePlan


def run(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Begin DC-SVM of two classes, or of more."""
    return (classes.classes if shape.class_rows else dcsvm)(settings, goals, shape)


def plan(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return its stages with what they take."""
    lay_out = classes.lay_out if sizes.shape.class_rows else dcsvm_plan.lay_out
    return lay_out(sizes, goals)


METHOD = Method(
    DEFAULT_METHOD,
    "divide and conquer (Hsieh, Si, Dhillon 2014): levels of clusters, then the exact model",
    run,
    plan,
    has_levels=True,
    sets_levels=True,
    many_classes=True,
    whole_problem=True,
)
