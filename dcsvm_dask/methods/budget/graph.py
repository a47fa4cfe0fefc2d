"""The graph of descent on a budget: stages of so many pieces of an epoch, and the model."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.methods.budget import nodes as steps
from dcsvm_dask.methods.budget.model import model_stage
from dcsvm_dask.methods.budget.nodes import TABLES, take_tables
from dcsvm_dask.methods.budget.options import Budgeted, Layout
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Keep, Outcome, Stage, Stages, many, single
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stages import merge_stage, scored
from dcsvm_dask.solvers import far_merges
from dcsvm_dask.storage.stage_id import EPOCHS, StageId


def bsgd(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield stages until all epochs are over, then the model.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    del goals  # the number of epochs is a parameter
    layout = Layout.of(settings, shape)
    before, previous = [*tables_stage(settings), merge_stage()], None
    for number in range(1, layout.stages + 1):
        stage = round_stage(layout, number, previous)
        record = (yield [*before, stage])[stage.name]
        before, previous = [], stage.name
    assert previous is not None
    model = model_stage(previous)
    yield scored(model, shape)
    return Outcome(model.name, converged=True, message=far_merges(record, settings.kernel))


def tables_stage(settings: Settings) -> list[Stage]:
    """Return the stage that takes tables of merges from a file; none where they are computed."""
    place = Budgeted(**settings.options).tables
    return [Stage(TABLES, (single(COMMIT, take_tables, place=place),), TABLES)] if place else []


def round_stage(layout: Layout, number: int, previous: str | None) -> Stage:
    """Return one of the stages.

    Parameters
    ----------
    layout : Layout
    number : int
        From 1.
    previous : str or None
        The stage before; None: there are no support vectors yet.
    """
    name = StageId.numbered(EPOCHS, number)
    how: dict[str, Any] = {
        "previous": previous,
        "span": layout.pieces_of(number),
        "parts": layout.shares,
        "pieces": layout.pieces,
        "whole": layout.whole,
    }
    if layout.shares == 1:
        layers = (single(COMMIT, steps.learn_share, part=0, **how),)
        return Stage(name, layers, EPOCHS, supersedes=previous)
    joined = single(COMMIT, steps.join_shares, stage=name, previous=previous, parts=layout.shares)
    learning = many(steps.LEARN, steps.learn_share, layout.shares, "part", keep=Keep.STAGE, **how)
    return Stage(name, (learning, joined), EPOCHS, supersedes=previous)
