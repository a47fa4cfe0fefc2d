"""DC-SVM as a method: of two classes, or of more at once."""

from __future__ import annotations

from dcsvm_dask.methods.conquer.graph import CONQUER_KIND, REFINE_KIND
from dcsvm_dask.methods.dcsvm import plan as dcsvm_plan
from dcsvm_dask.methods.dcsvm.classes import graph as classes
from dcsvm_dask.methods.dcsvm.conquering import is_one_set
from dcsvm_dask.methods.dcsvm.graph import dcsvm
from dcsvm_dask.methods.decomposition.method import SETS_KIND
from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import Stages
from dcsvm_dask.methods.machines import has_several
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stage_plan import StagePlan
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import BALANCE, LEVEL, PARTITION
from dcsvm_dask.tasks import TASKS


def run(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Begin DC-SVM of one SVM, or of several.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    several = has_several(settings, len(shape.class_rows))
    return (classes.classes if several else dcsvm)(settings, goals, shape)


def plan(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return its stages with what they take."""
    several = has_several(sizes.settings, len(sizes.shape.class_rows))
    plan_stages = classes.plan_stages if several else dcsvm_plan.plan_stages
    return plan_stages(sizes, goals)


def solves_one_set(settings: Settings, shape: Shape) -> bool:
    """Return whether a run solves one working set, of one SVM without a sum but that of a bias."""
    several = has_several(settings, len(shape.class_rows))
    return not several and not settings.make_task().has_sum and is_one_set(settings, shape)


def _describe_level(record: Record) -> str:
    return (
        f"{record['blocks']} blocks solved, support vectors {record['support']}, objective "
        f"~ {record['objective_estimate']:.6g} +- {record['objective_error']:.2g}, "
        f"gap ~ {record['gap_estimate']:.3g}; {record['why']}"
    )


def _describe_partition(record: Record) -> str:
    return str(record["why"])


def _describe_balance(record: Record) -> str:
    return (
        f"{record['blocks']} blocks solved for the bias {record['offset']:.6g}, objective "
        f"{record['objective']:.4f}, sum of beta {record['balance']:.3g}"
    )


STAGES = (
    StageKind(LEVEL, _describe_level, turn=3, measures=True, of_blocks=True),
    StageKind(PARTITION, _describe_partition, turn=3, names_tasks=True),
    StageKind(
        BALANCE, _describe_balance, turn=4, of_blocks=True, is_round=True, beside_levels=True
    ),
    REFINE_KIND,
    CONQUER_KIND,
    SETS_KIND,
)

METHOD = Method(
    DEFAULT_METHOD,
    "divide and conquer (Hsieh, Si, Dhillon 2014): levels of clusters, then the exact model",
    run,
    plan,
    stages=STAGES,
    has_levels=True,
    sets_levels=True,
    many_classes=True,
    whole_problem=True,
    tasks=tuple(TASKS),
    compiles=("parallel",),
    is_one_set=solves_one_set,
)
