"""What dual coordinate descent takes: memory, work and bytes written, before it runs."""

from __future__ import annotations

from dcsvm_dask.methods.dcd.classes_plan import plan_classes
from dcsvm_dask.methods.dcd.graph import (
    INNER_PASSES,
    PASSES_OF_PART,
    VISIT,
    Layout,
    round_stage,
)
from dcsvm_dask.methods.dcd.nodes import KEPT, KEPT_BYTES, KEPT_PASSES
from dcsvm_dask.methods.forecast import Forecast, largest
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.linear.model import model_stage
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan
from dcsvm_dask.tasks import TASKS

# Passes over the rows until the tolerance is met, typically, as visits of all rows: most rest in
# most passes. Those with bounds for real targets take more.
PASSES, PASSES_OF_TARGETS = 60, 200
# Rounds of several parts until then: 5 to 17 on a9a, w8a, ijcnn1 and covtype.
ROUNDS = 10
# Seconds of a core for a value of a row in a pass of a round: ten passes take as long as three to
# five over all rows, since most rows rest. Measured: 0.6e-9 on covtype, 1e-9 on a9a and w8a,
# 1.8e-9 on news20.
VALUE_SECONDS = 1.2e-9
# Bytes of rows that a task reads and decompresses in a second, for each pass where they are in
# pieces. Measured: 0.36e9 on covtype, 0.44e9 on a9a and w8a, 0.94e9 on news20.
READ_PER_SECOND = 400e6
# Bytes of vectors for each row: of a task's part, and of all rows in every task.
ROW_VECTORS, PROBLEM_VECTORS = 130.0, 40.0
# Bytes for each of all rows where a point is balanced, or a free bias and the gap are found by
# sorting.
BALANCING = 200.0


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take; the rounds after the first stand for one."""
    settings, shape, n = sizes.settings, sizes.shape, sizes.n
    layout = Layout.of(settings, shape)
    if layout.classes:
        return plan_classes(sizes, goals, layout)
    features = sizes.width
    rows = layout.rows * sizes.row
    # A piece (one of several is copied, to stand beside rows of the others), and it while it is
    # read.
    piece = rows / layout.chunks * (2.0 if layout.chunks == 1 else 3.2)
    kept = 3.0 * min(KEPT * n * sizes.row, KEPT_BYTES) if layout.parts > 1 else 0.0
    vectors = ROW_VECTORS * layout.rows + PROBLEM_VECTORS * n
    sums = 40.0 * (layout.parts + 2) * features
    committing = 24.0 * n + 16.0 * layout.machines * layout.parts * features
    if layout.is_free:
        committing += BALANCING * n + kept + sums
    need = largest(sizes.fixed(piece + vectors + kept + sums), sizes.fixed(committing))
    passes = PASSES if TASKS[settings.task].has_classes else PASSES_OF_TARGETS
    visits, rounds, side = float(passes), 1, 0.0
    readings = 3.0 if layout.is_free else 2.0
    if layout.parts > 1:
        rounds, visits = ROUNDS, ROUNDS * (PASSES_OF_PART + 2.0)
        again = float(ROUNDS * (layout.most_passes or 0))
        side = ROUNDS * KEPT_PASSES * min(KEPT * n, KEPT_BYTES / sizes.row) / n / 10.0
    else:
        rounds, again = layout.rounds_of(visits * n), visits / INNER_PASSES
    readings = rounds * readings + (again if layout.chunks > 1 else 0.0)
    busy = layout.machines * n * (visits + side) * (sizes.values + VISIT) * VALUE_SECONDS
    busy += layout.machines * readings * sizes.shape.n_bytes / READ_PER_SECOND
    written = layout.machines * 8.0 * n
    passing = 2.0 * written if layout.parts > 1 else written
    if layout.is_free:  # slopes, and the point that is balanced
        passing *= 2.0
    remedy = f"raise -P chunks above {layout.chunks}"
    plans = [merging_plan(sizes)]
    for number, times in ((1, 1), (2, rounds - 1)):
        if times:
            previous = None if number == 1 else plans[-1].stage.name
            stage = round_stage(layout, goals, number, previous, range(layout.machines))
            plans.append(
                StagePlan(
                    stage,
                    need,
                    0.0,
                    written + passing,
                    times=times,
                    core_seconds=busy / rounds,
                    passing_bytes=passing,
                    remedy=remedy,
                )
            )
    model = sizes.fixed(24.0 * layout.machines * features)
    written_model = 4.0 * layout.machines * features
    stage = model_stage(plans[-1].stage.name, layout.constant)
    plans.append(StagePlan(stage, model, 0.0, written_model))
    return plans
