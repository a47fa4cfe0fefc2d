"""What parallel decomposition takes: memory, work and bytes written, before it runs."""

from __future__ import annotations

from dcsvm_dask.methods.conquer.graph import Chain, check_stage
from dcsvm_dask.methods.decomposition.graph import scratch_stage, sets_stage
from dcsvm_dask.methods.decomposition.options import Decomposition, number_of_shares
from dcsvm_dask.methods.forecast import VECTOR, Forecast, Load, largest
from dcsvm_dask.methods.graph import COMMIT, STEP
from dcsvm_dask.methods.method import Goals
from dcsvm_dask.methods.sizes import row_parts
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan, of_loads, offset_plan
from dcsvm_dask.storage.stage_id import DECOMPOSITION

# How often a support vector moves, typically; commits of a run.
MOVES, COMMITS = 3.0, 4
# Vectors of all variables that the commit holds, and those of a share's rows.
COMMIT_VECTORS, SHARE_VECTORS = 12, 14


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take; stages of working sets after the first are like it."""
    settings, n = sizes.settings, sizes.n
    options, shares = Decomposition(**settings.options), number_of_shares(n)
    parts = row_parts(n, settings.chunk_rows)
    chain = Chain(DECOMPOSITION, None, False, True, goals.tol, parts, goals.max_rounds)
    size = min(options.size, n)
    rows = n / shares
    # A worker may hold all shares.
    held = 2.0 * sizes.shape.n_bytes + SHARE_VECTORS * VECTOR * n + options.cache * 2**20
    solving = 4.0 * 1.57 * size**2 + 4.0 * size * sizes.row
    need = largest(sizes.fixed(held + solving), sizes.fixed(COMMIT_VECTORS * VECTOR * n))
    written = (2 * VECTOR + 1.0) * n
    step = Load(STEP, kernel_values=MOVES * n * sizes.support / COMMITS, largest=rows / n)
    commit = Load(COMMIT, written_bytes=written)
    stages = [merging_plan(sizes)]
    if settings.make_task().has_sum:
        whole = Load("recompute", kernel_values=float(n) * sizes.support)
        start = of_loads(check_stage(chain, 0, None), sizes.checking(n), (whole, commit))
        stages = [offset_plan(sizes), *stages, start]
    stages.append(
        of_loads(
            sets_stage(chain, 1, None, shares), need, (step, commit), times=COMMITS, remedy=None
        )
    )
    whole = Load("recompute", kernel_values=float(n) * sizes.support)
    stages.append(
        of_loads(scratch_stage(chain, 2, ""), sizes.checking(n), (whole, commit), remedy=None)
    )
    return stages
