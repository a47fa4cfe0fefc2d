"""Kinds of stages: how progress and reports treat the stages of a kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dcsvm_dask.numbers import counted
from dcsvm_dask.storage.node import Record


def describe_point(record: Record) -> str:
    """Return objective, gap, violation and support vectors of a commit, as far as it has them."""
    text = f"objective {record['objective']:.4f}"
    if "gap" in record:
        text += f" gap {record['gap']:.3g}"
    text += f" violation {record['violation']:.2g} support vectors {record['support']}"
    if "beta_min" in record:
        text += f" factors {record['beta_min']:.2f} to 1"
    if "active" in record and record.get("blocks"):
        text += f"; next {record['active']} rows in {counted(record['blocks'], 'block')}"
    return text


@dataclass(frozen=True, slots=True)
class StageKind:
    """A kind of stages, which is the first word of their names.

    Attributes
    ----------
    name : str
        See `dcsvm_dask.storage.stage_id`.
    describe : callable
        Returns the result of a commit as a phrase, given its record.
    turn : int or None
        Place in the order in which kinds follow each other; no stage of a kind begins once one of a
        later kind has begun. None: not ordered.
    prepares : bool
        Whether it comes before everything that is solved.
    measures : bool
        Whether a commit is a point of the run's history: an objective with its support vectors.
    measured_by : str or None
        Kind of the stage of the same number that measures its point instead.
    of_all_rows : bool
        Whether gap and violation of a commit are those of the problem of all rows.
    of_blocks : bool
        Whether tasks solve blocks of a level, and the commit adds up what they counted.
    is_round : bool
        Whether the numbers of its stages are those of rounds.
    until_tolerance : bool
        Whether rounds end where the violation meets the tolerance; progress shows them as one row.
    of_sets : bool
        Whether its rounds are stretches of one chain of working sets over the whole problem, of
        which `dcsvm_dask.runtime.events.SetSolved` tells between commits.
    is_optional : bool
        Whether a planned stage is often not needed.
    beside_levels : bool
        Whether its tasks work on rows of all blocks, so that it is drawn above the levels.
    judges : bool
        Whether it measures a model that another stage made.
    names_tasks : bool
        Whether reports name its tasks by the stage instead of by their layer.
    """

    name: str
    describe: Callable[[Record], str] = describe_point
    turn: int | None = None
    prepares: bool = False
    measures: bool = False
    measured_by: str | None = None
    of_all_rows: bool = True
    of_blocks: bool = False
    is_round: bool = False
    until_tolerance: bool = False
    of_sets: bool = False
    is_optional: bool = False
    beside_levels: bool = False
    judges: bool = False
    names_tasks: bool = False
