"""What parallel decomposition takes: memory, work and bytes written, before it runs."""

from __future__ import annotations

from dcsvm_dask.kernels import piece_of
from dcsvm_dask.kernels.columns import RARE
from dcsvm_dask.methods.conquer.graph import Chain, check_stage
from dcsvm_dask.methods.decomposition.graph import scratch_stage, sets_stage
from dcsvm_dask.methods.decomposition.moves import moves, sets
from dcsvm_dask.methods.decomposition.options import Decomposition
from dcsvm_dask.methods.forecast import INDEX, VALUE, VECTOR, Forecast, Need
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, STEP
from dcsvm_dask.methods.load import Load
from dcsvm_dask.methods.probe import SOLVING
from dcsvm_dask.methods.sizes import row_parts
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan, of_loads, offset_plan
from dcsvm_dask.solvers import number_of_shares
from dcsvm_dask.storage.stage_id import DECOMPOSITION

COMMITS = 4
"""Commits of a run, typically."""
MADE = 0.7
"""Share of the columns that have to be computed where they are kept."""
SET_SECONDS, USUAL_SET = 0.05, 2048
"""Seconds for choosing and solving a set of so many rows, and until shares have its step."""
WIDE_ROW = 130.0
"""Stored values of a row from which the time of a kernel value grows with them."""
BESIDE = 32 << 20
"""Bytes of arrays of steps that are gone, which the process does not give back at once."""
COMMIT_VECTORS, SHARE_VECTORS = 12, 14
"""Vectors of all variables that the commit holds, and those of a share's rows."""


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take; stages of working sets after the first are like it."""
    settings = sizes.settings
    parts = row_parts(sizes.n, settings.chunk_rows)
    chain = Chain(DECOMPOSITION, None, False, False, goals.tol, parts, goals.max_rounds)
    first = [offset_plan(sizes)] if settings.make_task().has_sum else []
    sets = sets_plans(sizes, chain, Decomposition(**settings.options), "lower -P cache")
    return [*first, merging_plan(sizes), *sets]


def sets_plans(
    sizes: Forecast, chain: Chain, options: Decomposition, remedy: str
) -> list[StagePlan]:
    """Return the stages of a chain of working sets.

    Parameters
    ----------
    sizes : Forecast
    chain : Chain
    options : Decomposition
    remedy : str
        What lowers their memory.
    """
    n, shares = sizes.n, number_of_shares(sizes.n)
    size = min(options.size, n)
    held = held_bytes(sizes, options, shares) + BESIDE
    solving = 4.0 * 1.57 * size**2 + 4.0 * size * sizes.row
    need = sizes.fixed(held + max(solving, COMMIT_VECTORS * VECTOR * n))
    checking = sizes.checking(n)
    # The shares stay in memory while f is computed from scratch.
    last = Need(int(held + checking.n_bytes), int(held + checking.most))
    each, made = _time_of_value(sizes), MADE if sizes.keeps_columns else 1.0
    values = moves(sizes, size) * n / COMMITS
    step = Load(
        STEP,
        kernel_values=values,
        core_seconds=(made * each - 1.0) * values * sizes.measured.value_seconds,
        largest=1.0 / shares,
    )
    commit = Load(
        COMMIT,
        core_seconds=setting_seconds(sizes, size) / COMMITS,
        written_bytes=(2 * VECTOR + 1.0) * n,
    )
    proof = float(n) * sizes.support
    whole = Load(
        "recompute",
        kernel_values=proof,
        core_seconds=(each - 1.0) * proof * sizes.measured.value_seconds,
    )
    written = Load(COMMIT, written_bytes=(2 * VECTOR + 1.0) * n)
    stage = sets_stage(chain, options, 1, None, shares)
    stages = [
        of_loads(stage, need, (step, commit), times=COMMITS, remedy=remedy),
        of_loads(scratch_stage(chain, 2, ""), last, (whole, written), remedy=remedy),
    ]
    if sizes.settings.make_task().has_sum:
        stages.insert(0, of_loads(check_stage(chain, 0, None), checking, (whole, written)))
    return stages


def setting_seconds(sizes: Forecast, size: int, each: float = SET_SECONDS) -> float:
    """Return the time in which all sets of so many variables are chosen and solved.

    Parameters
    ----------
    sizes : Forecast
    size : int
    each : float, optional
        Seconds for a set of `USUAL_SET` variables, until all rows have its step.
    """
    return each * (size / USUAL_SET) ** 2 * sets(sizes, size)


def held_bytes(sizes: Forecast, options: Decomposition, shares: int) -> float:
    """Return the memory of all shares between steps: a worker may come to have them all.

    Parameters
    ----------
    sizes : Forecast
    options : Decomposition
    shares : int
    """
    n, row = sizes.n, sizes.row
    held = row * n + SHARE_VECTORS * VECTOR * n
    if not sizes.keeps_columns:
        return held + row * n / shares  # tiles of one share at a time
    # Tiles of the rows: of sparse ones features that are not rare are stored dense.
    tiles, beside = row * n, row
    if not sizes.is_dense:
        dense = min(sizes.width, RARE * sizes.values)
        tiles, beside = (VALUE * dense + (VALUE + INDEX) * sizes.values) * n, 0.0
    piece = piece_of(n // shares)
    columns = min(options.cache * 2**20, n * (VALUE * float(n) + beside * shares))
    return held + tiles + columns + piece * (VALUE * n + beside * shares)


def _time_of_value(sizes: Forecast) -> float:
    """Return the time of a kernel value in a product over that of the plan's.

    A probe measures that of solvers for these rows; the usual time is that of rows of few values.
    """
    if sizes.measured.smooth is not None:
        return 1.0 / SOLVING
    return max(1.0, sizes.values / WIDE_ROW)
