"""How the whole problem is solved but by rounds: by one task, or over shares of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from dcsvm_dask.methods.conquer.graph import Chain, finish_with
from dcsvm_dask.methods.dcsvm.few_rows import few_rows
from dcsvm_dask.methods.dcsvm.whole_problem import solve_problem
from dcsvm_dask.methods.decomposition.graph import working_sets
from dcsvm_dask.methods.decomposition.options import Decomposition
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import Stage, Stages
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.sizes import row_parts
from dcsvm_dask.storage.stage_id import DECOMPOSITION

# Times the levels' tolerance: refinement need not be more exact than what the whole problem will
# change about it.
REFINE_TOL = 10.0
MOST_ROWS = 65_536
"""Rows up to which one task solves the whole problem, ..."""
MOST_WORK = 2.5e12
"""Multiplications of a kernel matrix of all rows up to which it does so ..."""
FUNCTION_FEATURES, VALUE_BYTES = 50, 4
"""... of which the kernel's function counts as so many features; bytes of a feature."""


def is_one_set(settings: Settings, shape: Shape) -> bool:
    """Return whether all rows of a run are one working set."""
    return not settings.clusters and shape.n_variables <= settings.set_cap


def is_one_task(settings: Settings, shape: Shape) -> bool:
    """Return whether one task solves the whole problem, sooner than several would.

    Its solver meets rows as they are stored in memory, predicts support vectors, and has large
    working sets; shares of the rows save less than sending them steps costs.
    """
    row = max(1.0, shape.n_bytes / max(1, shape.n_rows)) / VALUE_BYTES
    work = float(shape.n_variables) ** 2 * (row + FUNCTION_FEATURES)
    few = shape.n_variables <= MOST_ROWS and work <= MOST_WORK
    return few and not settings.make_task().has_sum


def conquer_smooth(
    settings: Settings, goals: Goals, shape: Shape, before: Sequence[Stage] = ()
) -> Stages:
    """Yield the graphs that solve the whole problem from zero: in one task, or by many.

    Which one follows from the data and parameters, not from how long a process may take: whoever
    resumes finds the stages that were committed.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    before : sequence of Stage
        Stages that go first.
    """
    if not is_one_task(settings, shape):
        return (yield from conquer_by_sets(settings, goals, shape, before=before))
    return (yield from conquer_by_one_task(settings, goals, shape, before=before))


def conquer_by_one_task(
    settings: Settings,
    goals: Goals,
    shape: Shape,
    *,
    level: str | None = None,
    before: Sequence[Stage] = (),
) -> Stages:
    """Yield the graphs that solve the whole problem in one task, and prove it in several.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    level : str, optional
        The level to start from, of a local kernel; without it the task finds a start itself.
    before : sequence of Stage
        Stages that go first.
    """
    chain = chain_of("conquer", level, settings, goals, shape, local=level is not None)
    reached = yield from few_rows(chain, solve=solve_problem, before=before)
    return (yield from finish_with(reached, shape))


def conquer_by_sets(
    settings: Settings,
    goals: Goals,
    shape: Shape,
    *,
    previous: str | None = None,
    before: Sequence[Stage] = (),
) -> Stages:
    """Yield the graphs that solve the whole problem by parallel decomposition.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    previous : str, optional
        The stage of a point to start from, with f of all rows; without it they start from zero.
    before : sequence of Stage
        Stages that go first.
    """
    chain = chain_of(DECOMPOSITION, None, settings, goals, shape, local=False)
    options, has_sum = Decomposition.within(settings.set_cap), settings.make_task().has_sum
    n = shape.n_variables
    reached = yield from working_sets(
        chain, options, n, has_sum=has_sum, previous=previous, before=before
    )
    return (yield from finish_with(reached, shape))


def chain_of(
    name: str,
    source: str | None,
    settings: Settings,
    goals: Goals,
    shape: Shape,
    *,
    local: bool,
) -> Chain:
    """Return the chain of rounds called "refine", "conquer" or "decomposition".

    Parameters
    ----------
    name : {"refine", "conquer", "decomposition"}
    source : str or None
        The stage of the warm start; None: zero.
    settings : Settings
    goals : Goals
    shape : Shape
    local : bool
        Whether the kernel is local.
    """
    refine = name == "refine"
    return Chain(
        name,
        source,
        support_only=refine,
        local=local,
        tol=REFINE_TOL * settings.level_tol if refine else goals.tol,
        parts=row_parts(shape.n_variables, settings.chunk_rows),
        max_rounds=goals.max_rounds,
    )
