"""What cutting planes take: memory, work and bytes written, before they run."""

from __future__ import annotations

from dcsvm_dask.methods.cutting.graph import round_stage
from dcsvm_dask.methods.cutting.options import MEETINGS, Layout
from dcsvm_dask.methods.forecast import Forecast, largest
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.linear.model import model_stage
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan

# Iterations until the gap is a thousandth of the objective, typically: of OCAS in memory, over many
# rows of small cost each, and of CPA.
ITERATIONS, ITERATIONS_OF_PARTS, ITERATIONS_OF_CPA = 80, 30, 1000
# Bytes of rows that a task decompresses in a second where it reads nothing else.
READ_PER_SECOND = 500e6
# Seconds of a core for a value of a row in an iteration, and for the losses of a row.
VALUE_SECONDS, ROW_SECONDS = 1e-9, 1e-7
# Bytes of vectors for each row: of a task's part, the same for each SVM, and of all rows in tasks.
ROW_VECTORS, SVM_VECTORS, PROBLEM_VECTORS = 200.0, 32.0, 30.0
# Rows of a chunk, at most.
CHUNK_ROWS = 8192.0


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take; the rounds after the first stand for one."""
    settings, shape, n = sizes.settings, sizes.shape, sizes.n
    layout = Layout.of(settings, shape)
    values, rows, width = sizes.values, n / layout.parts, sizes.width + 1
    iterations = ITERATIONS if layout.parts == 1 else ITERATIONS_OF_PARTS
    if not layout.changes["line_search"]:
        iterations = ITERATIONS_OF_CPA
    planes = 8.0 * min(iterations, 100) * width
    # Rows of one part stay in memory, twice while their chunks are put together; of several parts
    # two chunks are there at a time.
    held = 2.0 * rows * sizes.row if layout.parts == 1 else 3.0 * min(rows, CHUNK_ROWS) * sizes.row
    svms = 1 if layout.parts == 1 else layout.machines
    vectors = (ROW_VECTORS + SVM_VECTORS * svms) * rows + PROBLEM_VECTORS * n
    need = largest(
        sizes.fixed(held + vectors + 16.0 * width * layout.machines),
        sizes.fixed(3.0 * planes + PROBLEM_VECTORS * n),
    )
    busy = n * (MEETINGS * values * VALUE_SECONDS + ROW_SECONDS)
    number, rounds = 0, 0
    if layout.parts > 1:
        rounds = iterations
        busy += layout.reads * n * sizes.row / READ_PER_SECOND / layout.machines
    else:
        while number < iterations:
            rounds += 1
            number += layout.most_iterations(rounds)
    total = layout.machines * busy * iterations
    passing = 8.0 * layout.machines * (2.0 * n if layout.parts > 1 else planes / 8.0)
    written = layout.machines * planes + passing
    plans = [merging_plan(sizes)]
    for first, times in ((True, 1), (False, rounds - 1)):
        if times:
            previous = None if first else plans[-1].stage.name
            stage = round_stage(layout, goals, 1 if first else 2, previous, range(layout.machines))
            plans.append(
                StagePlan(
                    stage,
                    need,
                    0.0,
                    written,
                    times=times,
                    core_seconds=total / rounds,
                    passing_bytes=passing,
                    remedy=None if layout.parts > 1 else "raise -P parts above 1",
                )
            )
    model = sizes.fixed(24.0 * layout.machines * width)
    stage = model_stage(plans[-1].stage.name, layout.constant)
    plans.append(StagePlan(stage, model, 0.0, 4.0 * layout.machines * width))
    return plans
