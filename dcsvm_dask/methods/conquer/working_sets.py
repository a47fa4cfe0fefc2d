"""The graph of conquer for a smooth kernel: working sets.

The first one holds the support vectors predicted by an SVM trained on a random subset.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from dcsvm_dask.methods.conquer import working_set
from dcsvm_dask.methods.conquer import working_set as subset
from dcsvm_dask.methods.conquer.graph import (
    MOST_IDLE,
    Chain,
    Reached,
    check_stage,
    holds,
    last_point,
    stage_name,
)
from dcsvm_dask.methods.graph import COMMIT, Graph, Keep, Layer, Node, Stage, many, single
from dcsvm_dask.methods.node import Step
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stall import Stall
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import CONQUER, REFINE

SUBSET = "subset"


def _describe_subset(record: Record) -> str:
    sizes = ", ".join(map(str, record["sizes"]))
    return f"SVM on {sizes} random rows, support vectors {record['n_support']}"


KINDS = (
    StageKind(SUBSET, _describe_subset, turn=2, beside_levels=True, names_tasks=True),
    StageKind(
        REFINE,
        turn=5,
        measures=True,
        of_all_rows=False,
        is_round=True,
        until_tolerance=True,
        is_optional=True,
        beside_levels=True,
    ),
    StageKind(
        CONQUER, turn=6, measures=True, is_round=True, until_tolerance=True, beside_levels=True
    ),
)
"""Kinds of stages of the solution of the whole problem, or of that of some support vectors."""


def working_sets(
    chain: Chain,
    *,
    predicts_support: bool,
    whole: bool = False,
    feasible: bool = True,
    before: Sequence[Stage] = (),
) -> Generator[Graph, dict[str, Record], Reached]:
    """Yield a start from zero, then rounds of one working set each.

    A round whose set is likely to be the last one sums f from scratch instead of bringing it up
    to date: that is what a claim of convergence needs anyway. Rounds also end where rounding lets
    neither objective nor violation fall.

    Parameters
    ----------
    predicts_support : bool
        Whether an SVM trained on a random subset predicts the first set; for few rows that costs
        more than it saves.
    whole : bool
        Whether all rows fit into one set: then one task does everything but the last look.
    feasible : bool, default True
        Whether zero has the sum that the variables have; else the start is one that has it.
    before : sequence of Stage
        Stages that go first.
    """
    number = int(whole and feasible)
    graph = list(before)
    if not feasible:
        stage = check_stage(chain, 0, None)
    elif whole:
        stage = closing_stage(chain, number, None, at_once=True, predicts_support=predicts_support)
    else:
        graph += [subset_stage()] if predicts_support else []
        stage = start_stage(chain, predicts_support=predicts_support)
    record = (yield [*graph, stage])[stage.name]
    stall = Stall(MOST_IDLE)
    while number < chain.max_rounds:
        done = record["violation"] <= chain.tol
        stall.see(record)
        if done and not record["released"] and holds(chain, record):
            return Reached(stage.name, record, converged=True)
        if stall.is_over and record["from_scratch"] and not record["released"]:
            break
        number += 1
        if done or stall.is_over or not record["blocks"]:
            stage = check_stage(chain, number, stage.name, scoped=False)
        elif record["at_once"] or (record["closing"] and not record["from_scratch"]):
            stage = closing_stage(chain, number, stage.name, at_once=record["at_once"])
        else:
            stage = set_stage(chain, number, stage.name)
        record = (yield [stage])[stage.name]
    return last_point(chain, stage, record, stall)


def subset_stage() -> Stage:
    """Return the stage that trains on nested random subsets."""
    return Stage(SUBSET, (single(COMMIT, subset.solve_subsets),), SUBSET)


def start_stage(chain: Chain, *, predicts_support: bool) -> Stage:
    """Return the stage that starts at zero and chooses the first working set."""
    name = stage_name(chain, 0)
    layers = []
    if predicts_support:
        layers.append(
            many(
                "predict",
                subset.predict_support,
                chain.parts,
                "part",
                subset=SUBSET,
                parts=chain.parts,
            )
        )
    start = single(
        COMMIT,
        working_set.start_sets,
        stage=name,
        subset=SUBSET if predicts_support else None,
        parts=chain.parts,
        tol=chain.tol,
    )
    return Stage(name, (*layers, start), chain.name)


def set_stage(chain: Chain, number: int, previous: str) -> Stage:
    """Return the stage of a round of one working set.

    Parameters
    ----------
    chain : Chain
    number : int
        Number of the round.
    previous : str
        The stage of the round before.
    """
    name = stage_name(chain, number)
    layers = (
        _solve(working_set.solve_set, previous=previous, number=number),
        many(
            "product",
            working_set.product_of_set,
            chain.parts,
            "part",
            stage=name,
            parts=chain.parts,
        ),
        single(
            COMMIT,
            working_set.take_step,
            stage=name,
            previous=previous,
            number=number,
            parts=chain.parts,
            tol=chain.tol,
        ),
    )
    return Stage(name, layers, chain.name, supersedes=previous)


def closing_stage(
    chain: Chain,
    number: int,
    previous: str | None,
    *,
    at_once: bool,
    predicts_support: bool = False,
) -> Stage:
    """Return the stage of a round after which f is computed from scratch.

    Parameters
    ----------
    chain : Chain
    number : int
        Number of the round.
    previous : str or None
        The stage of the round before; None: zero.
    at_once : bool
        Whether one task solves as many working sets as are needed, not one set.
    predicts_support : bool, default False
        See `solve_at_once`.
    """
    name = stage_name(chain, number)
    if at_once:
        step: Step = working_set.solve_at_once
        solve = _solve(step, previous=previous, predicts_support=predicts_support, tol=chain.tol)
    else:
        solve = _solve(working_set.solve_set, previous=previous, number=number)
    look = check_stage(chain, number, name, node=working_set.SOLVE, layer="close", scoped=False)
    return Stage(name, (solve, *look.layers), chain.name, supersedes=previous)


def _solve(step: Step, **arguments: Any) -> Layer:
    return Layer("solve", (Node(working_set.SOLVE, step, arguments),), Keep.STAGE)
