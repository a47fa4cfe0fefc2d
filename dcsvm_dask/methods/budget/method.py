"""Stochastic gradient descent on a budget as a method of training."""

from __future__ import annotations

from dcsvm_dask.methods.budget.graph import bsgd, round_stage, tables_stage
from dcsvm_dask.methods.budget.model import model_stage
from dcsvm_dask.methods.budget.nodes import TABLES
from dcsvm_dask.methods.budget.options import CHUNK_ROWS, PIECE_BYTES, Budgeted, Layout
from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan
from dcsvm_dask.solvers.budget.learner import check_steps
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import EPOCHS
from dcsvm_dask.tasks import SUPERVISED

# Bytes of vectors for each row.
ROW_VECTORS = 80.0


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take; the first stands for all."""
    del goals
    settings, shape, n = sizes.settings, sizes.shape, sizes.n
    # Weights of rows, which are not read yet, are looked at when the rows are learned.
    check_steps(settings.C * max(settings.class_weight, default=1.0), n)
    layout, options = Layout.of(settings, shape), Budgeted(**settings.options)
    held = (
        2.0 * n / layout.shares * sizes.row
        if layout.whole
        else 3.0 * max(PIECE_BYTES, CHUNK_ROWS * sizes.row)
    )
    features = shape.n_features or sizes.row / 4.0
    # The joint expansion of all shares has the support vectors of each.
    expansion = 4.0 * options.budget * features * layout.machines * (1 + layout.shares)
    square = 0.0
    if options.merge == "projection":
        joined = float((options.budget * layout.shares) ** 2)
        square = 8.0 * max(layout.machines * float(options.budget**2), joined)
    taken = 16.0 * options.table_size**2
    need = sizes.fixed(held + 2.0 * expansion + 3.0 * square + ROW_VECTORS * n + taken)
    steps = layout.machines * n * layout.epochs
    stage = round_stage(layout, 1, None)
    model = sizes.fixed(3.0 * expansion)
    return [
        *(
            StagePlan(one, sizes.fixed(3.0 * taken), 0.0, taken, remedy=None)
            for one in tables_stage(settings)
        ),
        merging_plan(sizes),
        StagePlan(
            stage,
            need,
            float(options.budget) * steps / layout.stages,
            expansion,
            times=layout.stages,
            core_seconds=steps * layout.step_seconds / layout.stages,
            passing_bytes=expansion,
            remedy="lower -P budget",
        ),
        StagePlan(model_stage(stage.name), model, 0.0, expansion),
    ]


def _describe(record: Record) -> str:
    passed = f"{record['epochs']:.3g} epochs, " if "epochs" in record else ""
    return (
        f"{passed}{record['steps']:,} steps, {record['violations']:,} moved the model, "
        f"{record['merges'] + record['removals']:,} merges or removals, "
        f"support vectors {record['support']}"
    )


def _describe_tables(record: Record) -> str:
    return f"{record['table_size']} x {record['table_size']} points of {record['file']}"


METHOD = Method(
    "bsgd",
    "stochastic gradient descent on a budget of support vectors (Glasmachers, Qaadan 2018)",
    bsgd,
    plan_stages,
    Budgeted,
    (
        StageKind(TABLES, _describe_tables, turn=0, prepares=True, names_tasks=True),
        StageKind(EPOCHS, _describe, turn=6, is_round=True, names_tasks=True),
    ),
    many_classes=True,
    tasks=SUPERVISED,
    compiles=("budget",),
)
