"""Dual coordinate descent as a method of training."""

from __future__ import annotations

from dcsvm_dask.methods.dcd.graph import DESCENT, dcd
from dcsvm_dask.methods.dcd.options import Descent
from dcsvm_dask.methods.dcd.plan import plan_stages
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.stage_kind import StageKind, describe_point
from dcsvm_dask.storage.node import Record
from dcsvm_dask.tasks import SUPERVISED


def _describe_round(record: Record) -> str:
    return f"{describe_point(record)}, {record['passes']} passes"


ROUND = StageKind(
    DESCENT, _describe_round, turn=6, measures=True, is_round=True, until_tolerance=True
)
METHOD = Method(
    "dcd",
    "linear SVMs by dual coordinate descent (Hsieh et al. 2008) over rows in chunks and parts",
    dcd,
    plan_stages,
    Descent,
    (ROUND,),
    many_classes=True,
    tasks=SUPERVISED,
    compiles=("signed",),
)
