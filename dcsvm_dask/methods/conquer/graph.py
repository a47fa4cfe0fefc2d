"""Rounds of block minimisation, until the violation is within the tolerance."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

from dcsvm_dask.methods.conquer import check, finish, rounds
from dcsvm_dask.methods.graph import (
    COMMIT,
    Graph,
    Outcome,
    Stage,
    many,
    single,
)
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stages import scored
from dcsvm_dask.methods.stall import Stall
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import CONQUER, MODEL, REFINE, StageId

REFINE_KIND = StageKind(
    REFINE,
    turn=5,
    measures=True,
    of_all_rows=False,
    is_round=True,
    until_tolerance=True,
    is_optional=True,
    beside_levels=True,
)
"""Rounds on the support vectors of a level."""
CONQUER_KIND = StageKind(
    CONQUER, turn=6, measures=True, is_round=True, until_tolerance=True, beside_levels=True
)
"""Rounds on all rows."""

# Rounds in a row that may lower neither objective nor violation: a round moves few of the
# variables, so that other rounds may still bring progress after one without.
MOST_IDLE = 10


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain of rounds: its name, its warm start and its stopping criteria."""

    name: str
    source: str | None
    """The committed stage whose variables are the warm start; None: zero."""
    support_only: bool
    """Whether it works on the support vectors of its source alone (refinement)."""
    local: bool
    """Whether the kernel is local: far pairs are skipped, and rounds improve blocks."""
    tol: float
    parts: int
    max_rounds: int
    rests: bool = False
    """Whether variables that are clearly at zero rest between checks from scratch."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The last point of a chain of rounds."""

    stage: str
    record: Record
    converged: bool
    message: str = ""
    """Why it did not converge, where the limit of rounds is not the reason."""
    is_slow: bool = False
    """Whether it ended because rounds bring too little."""


def conquer(chain: Chain, slow: float = math.inf) -> Generator[Graph, dict[str, Record], Reached]:
    """Yield a start, then rounds, until the violation with f from scratch is within the tolerance.

    Rounds also end where rounding lets neither objective nor violation fall. A chain over support
    vectors alone ends without a last check from scratch, since the next chain starts with one.

    Parameters
    ----------
    chain : Chain
    slow : float, default infinity
        Rounds of several blocks end, too, where one leaves more than this share of the violation.
        The first round after a start says little of those that follow.
    """
    stage = check_stage(chain, 0, chain.source)
    record = (yield [stage])[stage.name]
    number, stall, before = 0, Stall(MOST_IDLE), math.inf
    while number < chain.max_rounds:
        done = record["violation"] <= chain.tol
        stall.see(record)
        # If the run went further before its tolerance was raised, this point is gone.
        if done and not record["released"] and (chain.support_only or holds(chain, record)):
            return Reached(stage.name, record, converged=True)
        if stall.is_over and record["from_scratch"] and not record["released"]:
            break
        # Nothing here depends on the tolerance: whoever resumes with another one goes the same way.
        fell = record["from_scratch"] or record["violation"] <= slow * before
        if number > 1 and record["blocks"] > 1 and not fell:
            return Reached(stage.name, record, converged=False, is_slow=True)
        number, before = number + 1, record["violation"]
        if done or stall.is_over or not record["blocks"]:
            stage = check_stage(chain, number, stage.name)
        else:
            stage = round_stage(chain, number, stage.name, record["blocks"])
        record = (yield [stage])[stage.name]
    return last_point(chain, stage, record, stall)


def last_point(chain: Chain, stage: Stage, record: Record, stall: Stall) -> Reached:
    """Return the point at which a chain ends without a proof of convergence, and why."""
    converged = holds(chain, record)
    return Reached(stage.name, record, converged, "" if converged else stall.message(chain.tol))


def holds(chain: Chain, record: Record) -> bool:
    """Return whether a record proves convergence: f from scratch, and exact enough.

    The f of a round is not from scratch; a check for a larger tolerance was less exact.
    """
    exact = record["from_scratch"] and record["tol"] <= chain.tol
    return bool(exact and record["violation"] <= chain.tol)


def check_stage(
    chain: Chain,
    number: int,
    source: str | None,
    *,
    node: str = COMMIT,
    layer: str = "recompute",
    scoped: bool = True,
) -> Stage:
    """Return the stage that computes f from scratch; number 0 also chooses the variables.

    Parameters
    ----------
    chain : Chain
    number : int
        Number of the round.
    source : str or None
        The stage of the point; at number 0 the warm start, None: zero.
    node : str
        The node of `source` that has the point; not used at number 0.
    layer : str
        Name of the nodes that compute f.
    scoped : bool, default True
        Whether the chain works on the variables of its first stage; else on all.
    """
    name = stage_name(chain, number)
    first = stage_name(chain, 0) if scoped else None
    settle = single("scope", rounds.start_scope, source=source, support_only=chain.support_only)
    # The start has its variables in its own node `scope`, later rounds in the commit before.
    at = {"source": name, "node": "scope"} if number == 0 else {"source": source, "node": node}
    look = (
        many(
            layer,
            check.product_of_point,
            chain.parts,
            "part",
            scope=first,
            parts=chain.parts,
            tol=chain.tol,
            local=chain.local,
            **at,
        ),
        single(
            COMMIT,
            check.commit_check,
            stage=name,
            scope=first,
            number=number,
            layer=layer,
            parts=chain.parts,
            tol=chain.tol,
            in_blocks=chain.local,
            rests=chain.rests,
            **at,
        ),
    )
    if number == 0:
        return Stage(name, (settle, *look), chain.name)
    return Stage(name, look, chain.name, supersedes=source)


def round_stage(chain: Chain, number: int, previous: str, blocks: int) -> Stage:
    """Return the stage of one round.

    Parameters
    ----------
    chain : Chain
    number : int
        Number of the round.
    previous : str
        The stage of the round before.
    blocks : int
        Number of blocks that it has chosen.
    """
    name = stage_name(chain, number)
    layers = (
        many("improve", rounds.improve_block, blocks, "block", previous=previous),
        many(
            "product",
            rounds.product_of_steps,
            chain.parts,
            "part",
            stage=name,
            previous=previous,
            blocks=blocks,
            parts=chain.parts,
            tol=chain.tol,
        ),
        single(
            COMMIT,
            rounds.join_steps,
            stage=name,
            previous=previous,
            number=number,
            blocks=blocks,
            parts=chain.parts,
            tol=chain.tol,
            rests=chain.rests,
        ),
    )
    return Stage(name, layers, chain.name, supersedes=previous)


def rounds_done(run: RunFolder) -> int:
    """Return the number of committed rounds of the longest chain of a run."""
    found = [(n, stage) for stage in run.stages() if (n := StageId(stage).round) is not None]
    return next((n for n, stage in sorted(found, reverse=True) if run.find(stage, COMMIT)), 0)


def stage_name(chain: Chain, number: int) -> StageId:
    """Return the name of a chain's stage."""
    return StageId.numbered(chain.name, number)


def finish_with(reached: Reached, shape: Shape) -> Generator[Graph, dict[str, Record], Outcome]:
    """Yield the stage that commits the model of the last point."""
    name = StageId.about(MODEL, reached.stage)
    layers = (single(COMMIT, finish.commit_model, source=reached.stage),)
    yield scored(Stage(name, layers, "model"), shape)
    return Outcome(name, reached.converged, reached.message)
