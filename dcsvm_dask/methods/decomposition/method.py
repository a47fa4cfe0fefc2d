"""Parallel decomposition as a method of training."""

from __future__ import annotations

from dcsvm_dask.methods.decomposition.graph import decomposition
from dcsvm_dask.methods.decomposition.options import Decomposition
from dcsvm_dask.methods.decomposition.plan import plan_stages
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.numbers import counted
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import DECOMPOSITION
from dcsvm_dask.tasks import ONE_CLASS, SUPERVISED


def _describe_sets(record: Record) -> str:
    text = (
        f"objective {record['objective']:.4f} gap {record['gap']:.3g} "
        f"violation {record['violation']:.2g} support vectors {record['support']}"
    )
    if record["from_scratch"]:
        return f"{text}, f from scratch"
    return f"{text} after {counted(record['sets'], 'working set')}"


SETS_KIND = StageKind(
    DECOMPOSITION,
    _describe_sets,
    turn=6,
    measures=True,
    is_round=True,
    until_tolerance=True,
    of_sets=True,
    beside_levels=True,
)
"""Stages of working sets over all rows."""

METHOD = Method(
    "decomposition",
    "one working set after the other over shares of the rows (Brugger 2006), on all workers",
    decomposition,
    plan_stages,
    Decomposition,
    (SETS_KIND,),
    whole_problem=True,
    is_timed=True,
    tasks=(*SUPERVISED, ONE_CLASS, "nu-classification", "nu-regression"),
    compiles=("parallel",),
)
