"""The graph of parallel decomposition: stages of working sets, and f from scratch at the end."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from dcsvm_dask.methods.conquer import check
from dcsvm_dask.methods.conquer.graph import (
    Chain,
    Reached,
    check_stage,
    finish_with,
    holds,
    last_point,
)
from dcsvm_dask.methods.decomposition.nodes import commit_sets
from dcsvm_dask.methods.decomposition.options import Decomposition
from dcsvm_dask.methods.decomposition.steps import PROGRAM
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Graph, Stage, Stages, many, single
from dcsvm_dask.methods.loop import Loop
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.sizes import row_parts
from dcsvm_dask.methods.stages import merge_stage, offset_stage
from dcsvm_dask.methods.stall import Stall
from dcsvm_dask.solvers import number_of_shares
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import DECOMPOSITION, StageId


def decomposition(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield the stages of a run of parallel decomposition.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    has_sum = settings.make_task().has_sum
    parts = row_parts(shape.n_variables, settings.chunk_rows)
    chain = Chain(DECOMPOSITION, None, False, False, goals.tol, parts, goals.max_rounds)
    sets = working_sets(
        chain,
        Decomposition(**settings.options),
        shape.n_variables,
        has_sum=has_sum,
        before=[*([offset_stage()] if has_sum else []), merge_stage()],
    )
    return (yield from finish_with((yield from sets), shape))


def working_sets(
    chain: Chain,
    options: Decomposition,
    n: int,
    *,
    has_sum: bool,
    previous: str | None = None,
    before: Sequence[Stage] = (),
) -> Generator[Graph, dict[str, Record], Reached]:
    """Yield stages of working sets until f from scratch is within the tolerance.

    Parameters
    ----------
    chain : Chain
    options : Decomposition
    n : int
        Number of variables.
    has_sum : bool
        Whether variables have a sum that is not that of zero: the start is one that has it.
    previous : str, optional
        The stage of a point to start from, with f of all rows; without it they start from zero.
    before : sequence of Stage
        Stages that go first.
    """
    if has_sum and previous is None:
        start = check_stage(chain, 0, None)
        yield [*before, start]
        before, previous = (), start.name
    number, checks, stall, shares = 0, 0, Stall(), number_of_shares(n)
    record: Record = {}
    stage: Stage | None = None
    while checks < chain.max_rounds:
        number += 1
        name = previous if stage is None else stage.name
        # What the steps themselves say: any other measure would end them earlier at a commit,
        # and where commits fall depends on a clock.
        if record.get("is_done"):
            stage = scratch_stage(chain, number, str(name))
            checks += 1
        else:
            stage = sets_stage(chain, options, number, name, shares)
        record = (yield [*before, stage])[stage.name]
        before = ()
        if not record["from_scratch"]:
            continue
        stall.see(record)
        done = holds(chain, record)
        # If the run went further before its tolerance was raised, this point is gone.
        if (done or stall.is_over) and not record["released"]:
            break
        record = {}
    assert stage is not None
    return last_point(chain, stage, record, stall)


def sets_stage(
    chain: Chain, options: Decomposition, number: int, previous: str | None, shares: int
) -> Stage:
    """Return a stage of working sets, as many as are solved until a commit is due.

    Parameters
    ----------
    chain : Chain
    options : Decomposition
    number : int
    previous : str or None
        The stage of the last point; None: all variables are zero.
    shares : int
    """
    entering = options.first_entering
    at: dict[str, Any] = {"previous": previous, "tol": chain.tol}
    loop = Loop(
        PROGRAM,
        shares,
        {**at, "size": options.size, "entering": entering},
        {"tol": chain.tol, "cache": options.cache},
    )
    layers = (single(COMMIT, commit_sets, **at, entering=entering),)
    name = StageId.numbered(DECOMPOSITION, number)
    return Stage(name, layers, DECOMPOSITION, supersedes=previous, loop=loop)


def scratch_stage(chain: Chain, number: int, previous: str) -> Stage:
    """Return the stage that computes f of a point from scratch.

    Parameters
    ----------
    chain, number
        As for `sets_stage`.
    previous : str
        The stage of the point.
    """
    name = StageId.numbered(DECOMPOSITION, number)
    about: dict[str, Any] = {"scope": None, "source": previous, "node": COMMIT, "tol": chain.tol}
    layers = (
        many(
            "recompute",
            check.product_of_point,
            chain.parts,
            "part",
            parts=chain.parts,
            local=True,
            **about,
        ),
        single(
            COMMIT,
            check.commit_check,
            stage=name,
            number=number,
            layer="recompute",
            parts=chain.parts,
            in_blocks=False,
            **about,
        ),
    )
    return Stage(name, layers, DECOMPOSITION, supersedes=previous)
