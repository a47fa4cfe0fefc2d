"""Stages that several methods have: the probe, the merging of repeated rows, scores."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.methods import arrange, offset, probe, score
from dcsvm_dask.methods.graph import (
    COMMIT,
    Graph,
    Stage,
    single,
)
from dcsvm_dask.methods.problem import ARRANGE, OFFSET, PROBE
from dcsvm_dask.methods.regime import is_smooth, is_sparse_in_support
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.numbers import counted
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import COMMITTEE, MODEL, SCORE, StageId
from dcsvm_dask.tasks import score_text, scores_in


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
    """Return the stage that measures how local the kernel is; see `probe_kernel` for parameters."""
    return Stage(PROBE, (single(COMMIT, probe.probe_kernel, **how),), PROBE)


def offset_stage() -> Stage:
    """Return the stage that estimates the bias with which levels begin; see `offset`."""
    return Stage(OFFSET, (single(COMMIT, offset.estimate_offset),), OFFSET)


def merge_stage() -> Stage:
    """Return the stage that merges repeated rows and leaves them where they are."""
    return Stage(ARRANGE, (single(COMMIT, arrange.merge_repeats),), "arrange")


def _describe_offset(record: Record) -> str:
    if "epsilons" in record:
        margins = [-epsilon for epsilon in record["epsilons"]]
        return (
            f"rho ~ {min(margins):.3g} to {max(margins):.3g} by {len(margins)} SVMs on "
            f"{record['rows']} random rows"
        )
    return f"bias ~ {record['bias']:.6g} by an SVM on {record['rows']} random rows"


def _describe_arrangement(record: Record) -> str:
    merged = record["rows"] - record["variables"]
    text = f"{record['variables']} rows"
    if record["parts"]:
        text += f" in {record['blocks']} blocks (largest {record['largest_block']})"
    else:
        text += ", in their stored order"
    return text + (f", {merged} repeats merged" if merged else "")


def _describe_probe(record: Record) -> str:
    if "kept_share" in record:
        return f"about {record['kept_share']:.0%} of the rows are expected to be kept"
    if "probed_between" not in record:
        return f"about {record['set_share']:.0%} of the rows are expected to make a working set"
    given = "; the given levels are trained" if record.get("levels_given") else ""
    if is_sparse_in_support(record.get("support_share", 1.0)):
        share = f"{record['support_share']:.0%} of some rows are support vectors"
        return f"{share}: solving each SVM whole costs less than levels{given}"
    between = record["probed_between"]
    expected = "levels are expected to save time"
    if record["smooth"]:
        expected = f"working sets cost less than levels{given}"
    elif is_smooth(between):
        expected = "levels are tried, too many support vectors are expected for working sets"
    return f"kernel values between different clusters are {between:.0%} of all: {expected}"


def _describe_model(record: Record) -> str:
    isolated = (
        "; the kernel is 0 between different rows: scale the features, or lower gamma"
        if record.get("isolated")
        else ""
    )
    if "outputs" in record:
        return f"weights of {record['outputs']} features, {record['passes']} passes{isolated}"
    objective = record.get("objective")
    known = "" if objective is None else f", objective {objective:.6f}"
    if "crossing" in record:
        known += f", quantiles cross on {record['crossing']:.2%} of the rows"
    return f"support vectors {record['support']}{known}{isolated}"


def _describe_score(record: Record) -> str:
    mode = {"early": "early prediction"}.get(record["mode"], record["mode"])
    scores = ", ".join(score_text(*score) for score in scores_in(record))
    return f"{mode}: {scores} on {record['rows']} held-out rows"


def _describe_committee(record: Record) -> str:
    return f"{counted(record['blocks'], 'SVM')} calibrated on {record['rows']} rows of other blocks"


KINDS = (
    StageKind(OFFSET, _describe_offset, turn=0, prepares=True, names_tasks=True),
    StageKind(PROBE, _describe_probe, turn=0, prepares=True, names_tasks=True),
    StageKind(ARRANGE, _describe_arrangement, turn=1, prepares=True),
    StageKind(MODEL, _describe_model, turn=7, names_tasks=True),
    StageKind(SCORE, _describe_score, judges=True, names_tasks=True),
    StageKind(COMMITTEE, _describe_committee, judges=True),
)
"""Kinds of stages that any method may have."""
