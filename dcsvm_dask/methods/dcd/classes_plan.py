"""What the linear SVM of Crammer and Singer takes: memory, work and bytes, before it runs."""

from __future__ import annotations

from dcsvm_dask.methods.dcd.graph import VISIT, Layout, round_stage
from dcsvm_dask.methods.dcd.options import CRAMMER_SINGER
from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.linear.model import model_stage
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan

# Visits of each row until the tolerance is met, typically, where C is not large.
VISITS = 100
# Seconds of a core for a value of a row and a class.
VALUE_SECONDS = 5e-10
# Bytes of vectors for each row, and for each row and class: the point, its start, what is written.
ROW_VECTORS, CLASS_VECTORS = 130.0, 28.0
REMEDY = (
    f"leave out -P multi_class={CRAMMER_SINGER}, for which all rows are in the memory of one task"
)


def plan_classes(sizes: Forecast, goals: Goals, layout: Layout) -> list[StagePlan]:
    """Return the stages with what they take; the rounds after the first stand for one."""
    n, k, features = sizes.n, layout.classes, sizes.width
    # Pieces in which rows are read stand beside all of them for a moment.
    need = sizes.fixed(2.0 * n * sizes.row + (ROW_VECTORS + CLASS_VECTORS * k) * n)
    rounds = layout.rounds_of(VISITS * n)
    busy = (
        VISITS * n * k * (sizes.values + VISIT) * VALUE_SECONDS + rounds * sizes.reading_seconds()
    )
    plans = [merging_plan(sizes)]
    for number, times in ((1, 1), (2, rounds - 1)):
        if times:
            previous = None if number == 1 else plans[-1].stage.name
            plans.append(
                StagePlan(
                    round_stage(layout, goals, number, previous, range(layout.machines)),
                    need,
                    0.0,
                    8.0 * k * (n + features),
                    times=times,
                    core_seconds=busy / rounds,
                    remedy=REMEDY,
                )
            )
    stage = model_stage(plans[-1].stage.name, layout.constant)
    plans.append(StagePlan(stage, sizes.fixed(24.0 * k * features), 0.0, 4.0 * k * features))
    return plans
