"""A plan as a table and as JSON."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.drawing import megabytes
from dcsvm_dask.graphs.plan import Plan, StagePlan


def outline(plan: Plan) -> str:
    """Return a plan as a table."""
    lines = [f"{'stage':<12} {'tasks':>6} {'largest task':>13} {'kernel values':>14}  layers"]
    lines += [
        f"{stage.stage.name:<12} {stage.stage.n_nodes:>6} {megabytes(stage.task_bytes):>13} "
        f"{stage.kernel_values:>14.3g}  {_layers(stage)}"
        for stage in plan.stages
    ]
    lines += [
        f"largest task: {plan.largest.stage.name}; a worker needs {megabytes(plan.worker_bytes)}",
        f"work: about {plan.kernel_values:.2g} kernel values; rounds repeat until converged",
        f"disk: about {megabytes(plan.disk_bytes)} for the run folder at its most",
    ]
    return "\n".join(lines)


def outline_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON values."""
    return {
        "stages": [
            {
                "name": stage.stage.name,
                "tasks": stage.stage.n_nodes,
                "layers": {layer.name: len(layer.nodes) for layer in stage.stage.layers},
                "task_bytes": stage.task_bytes,
                "kernel_values": stage.kernel_values,
            }
            for stage in plan.stages
        ],
        "worker_bytes": plan.worker_bytes,
        "disk_bytes": plan.disk_bytes,
        "kernel_values": plan.kernel_values,
    }


def _layers(stage: StagePlan) -> str:
    return " > ".join(
        layer.name + (f" x {len(layer.nodes)}" if len(layer.nodes) > 1 else "")
        for layer in stage.stage.layers
    )
