"""Stages that several methods have: the probe, the merging of repeated rows, scores."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.methods import arrange, probe, score
from dcsvm_dask.methods.graph import (
    COMMIT,
    Graph,
    Stage,
    single,
)
from dcsvm_dask.methods.method import Shape
from dcsvm_dask.methods.problem import ARRANGE, PROBE
from dcsvm_dask.storage.stage_id import SCORE, StageId


def scored(stage: Stage, shape: Shape) -> Graph:
    """Return a stage that makes a model and, where rows are held out, the one that scores it."""
    return [stage, *([score_stage(stage)] if shape.holdout else [])]


def score_stage(source: Stage, *, committee: Stage | None = None) -> Stage:
    """Return the stage that scores a model, or a level's committee, on the rows held out."""
    how = None if committee is None else committee.name
    layers = (single(COMMIT, score.score_model, source=source.name, committee=how),)
    scored = committee or source
    # A label of its own: the dashboard's page of groups fails where groups of tasks form a circle.
    return Stage(StageId.about(SCORE, scored.name), layers, f"{scored.label}_score")


def probe_stage(**how: Any) -> Stage:
    """Return the stage that tells how local the kernel is; see `probe_kernel` for parameters."""
    return Stage(PROBE, (single(COMMIT, probe.probe_kernel, **how),), PROBE)


def merge_stage() -> Stage:
    """Return the stage that merges repeated rows and leaves them where they are."""
    return Stage(ARRANGE, (single(COMMIT, arrange.merge_repeats),), "arrange")
