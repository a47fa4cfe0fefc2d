"""What SpSVM takes, before it runs."""

from __future__ import annotations

from dcsvm_dask.graphs.forecast import Forecast, largest
from dcsvm_dask.graphs.goals import Goals
from dcsvm_dask.graphs.greedy import Greedy, Layout, fit_stage, greedy, grow_stage, model_stage
from dcsvm_dask.graphs.method import Method
from dcsvm_dask.graphs.stage_plan import StagePlan, merging_plan
from dcsvm_dask.solvers.greedy_pool import STOCK
from dcsvm_dask.steps import greedy as steps

# Steps that are typical of a round and of the last one, after that to the sample's weights; where
# the sample is all rows there is hardly any.
STEPS, LAST_STEPS = 2, 7
# Of a core: in a choice, for a score of a candidate at a row, and for a basis vector at a row.
SCORE_SECONDS, SEARCH_SECONDS = 1e-9, 1e-7
# Of a core: for a product of two columns at a row; for a value of a column, to make it in float64
# beside what a kernel value takes otherwise, and in every Newton step.
PRODUCT_SECONDS, EXACT_SECONDS, COLUMN_SECONDS = 5e-11, 9e-9, 5e-9


def lay_out(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take."""
    del goals
    settings, n = sizes.settings, sizes.n
    layout, pool = Layout.of(settings, sizes.shape), Greedy(**settings.options).pool
    sample = min(n, steps.SAMPLE_ROWS)
    few, many = (0, 1) if sample == n else (STEPS, LAST_STEPS)
    relief, plans = "lower -P basis", [merging_plan(sizes)]
    before, rounds, known = None, list[str](), 0
    for number, size in enumerate(layout.sizes):
        grown, new = grow_stage(settings, layout, number, before, rounds), size - known
        rounds = [*rounds, grown.name]
        matrices = 48.0 * size**2 + 10.0 * n
        choosing = sample * (4.0 * (size + pool + STOCK + 1) + 3.0 * sizes.row + 150.0)
        choosing += 16.0 * STOCK * min(sample, steps.CHUNK_ROWS)  # columns while they are made
        summing = layout.tile * 24.0 * size + 32.0 * size**2
        making = layout.tile * (16.0 * new + 2.0 * sizes.row) + new * sizes.row
        need = largest(*map(sizes.fixed, (choosing + matrices, summing, making)))
        candidates = pool + 0.5 * pool * new
        passing = n * size * COLUMN_SECONDS
        busy = sample * new * (pool * SCORE_SECONDS + SEARCH_SECONDS)
        busy += (n + sample) * new * size * PRODUCT_SECONDS + n * new * EXACT_SECONDS
        values = float(n) * new + sample * (candidates + known)
        written = 4.0 * n * new + 8.0 * layout.parts * size**2
        busy += passing
        plans.append(StagePlan(grown, need, values, written, core_seconds=busy, relief=relief))
        before = grown.name
        for step in range(many if size == layout.sizes[-1] else few):
            stepped = fit_stage(layout, number, step, before, rounds)
            before = stepped.name
            held, summed = sizes.fixed(max(matrices, summing)), 8.0 * layout.parts * size**2
            plans.append(StagePlan(stepped, held, 0.0, summed, core_seconds=passing, relief=relief))
        known = size
    assert before is not None
    model = sizes.fixed(2.0 * known * sizes.row)
    plans.append(StagePlan(model_stage(before, True), model, 0.0, known * (sizes.row + 8.0)))
    return plans


METHOD = Method(
    "greedy",
    "SpSVM (Keerthi, Chapelle, DeCoste 2006): a greedy choice of basis vectors, squared hinge",
    greedy,
    lay_out,
    Greedy,
)
