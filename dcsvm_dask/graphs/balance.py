"""Balancing a level whose blocks are problems of their own: the bias that makes y'alpha zero."""

from __future__ import annotations

from collections.abc import Generator

from dcsvm_dask.graphs.graph import COMMIT, Graph, Stage, many, single
from dcsvm_dask.graphs.sizes import level_slots
from dcsvm_dask.steps import balance
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import BALANCE, StageId

# y'alpha is nearly linear in the bias: more stages than these mean that it is not.
MOST_STAGES = 4
# A bias this near to the one that balances, as a share of the tolerance, is that one: what is left
# of y'alpha is taken from the free variables.
NEAR = 0.3


def balanced(level: str, record: Record, tol: float) -> Generator[Graph, dict[str, Record], str]:
    """Yield stages that solve a level's blocks again for a better bias; return the last one.

    Parameters
    ----------
    level : str
        The committed level.
    record : dict
        Its record.
    tol : float
        Violation of the exact model.
    """
    last = level
    for number in range(1, MOST_STAGES + 1):
        if abs(record["next_bias"] - record["offset"]) <= NEAR * tol:
            break
        stage = balance_stage(level, number, last, record)
        record = (yield [stage])[stage.name]
        last = stage.name
    return last


def balance_stage(level: str, number: int, previous: str, record: Record) -> Stage:
    """Return the stage that solves all blocks for the next bias."""
    name, slots = StageId.numbered(BALANCE, number), level_slots(record["blocks"], record["rows"])
    layers = (
        many(
            "solve",
            balance.move_slot,
            slots,
            "slot",
            level=level,
            previous=previous,
            slots=slots,
        ),
        single(
            COMMIT,
            balance.commit_balance,
            stage=name,
            level=level,
            previous=previous,
            slots=slots,
        ),
    )
    return Stage(name, layers, "balance", supersedes=previous if previous != level else None)
