"""OCAS and CPA as methods of training."""

from __future__ import annotations

from dcsvm_dask.methods.cutting.graph import PLANES, cutting_planes
from dcsvm_dask.methods.cutting.options import CuttingPlanes, Ocas
from dcsvm_dask.methods.cutting.plan import plan_stages
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.numbers import counted
from dcsvm_dask.storage.node import Record
from dcsvm_dask.tasks import SUPERVISED


def _describe_round(record: Record) -> str:
    return (
        f"objective {record['primal_objective']:.6g} gap {record['gap']:.3g} "
        f"({record['violation']:.2g}) after {counted(record['iterations'], 'iteration')}"
    )


ROUND = StageKind(
    PLANES, _describe_round, turn=6, measures=True, is_round=True, until_tolerance=True
)
OCAS = Method(
    "ocas",
    "linear SVMs by optimized cutting planes in the primal (Franc, Sonnenburg 2008)",
    cutting_planes,
    plan_stages,
    Ocas,
    (ROUND,),
    many_classes=True,
    tasks=SUPERVISED,
    compiles=("cutting",),
)
CPA = Method(
    "cpa",
    "linear SVMs by the plain cutting plane algorithm, which OCAS is measured against",
    cutting_planes,
    plan_stages,
    CuttingPlanes,
    (ROUND,),
    many_classes=True,
    tasks=SUPERVISED,
    compiles=("cutting",),
)
METHODS = (OCAS, CPA)
