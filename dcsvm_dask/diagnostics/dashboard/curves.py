"""The columns of the curves: objective, gap, violation, changed alphas, support vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from dcsvm_dask.diagnostics.dashboard.blocks import Columns
from dcsvm_dask.diagnostics.dashboard.words import estimate_of, figure_of
from dcsvm_dask.diagnostics.progress.progress import DONE, Progress, StageProgress
from dcsvm_dask.storage.stage_id import MODEL, StageId

ROUNDING = 1e-12
"""Relative difference of objectives up to which they are equal."""
LOG_ROOM = 0.1
"""Decades beyond the ends of a log scale, so that a point at the end is drawn whole."""
POINT = ("seconds", "stage")


def points(progress: Progress) -> Iterator[tuple[float, StageProgress]]:
    """Yield the stages that measured the whole problem, each after its time in seconds.

    Of the stages that were committed before this process began only the last is yielded, at time 0.
    """
    if progress.beginning is None:
        return
    measured = [
        stage
        for stage in progress.stages.values()
        if stage.state == DONE
        and not (stage.kind.judges or stage.kind.name == MODEL)
        and ("objective_estimate" in stage.record or "gap" in stage.record)
    ]
    before = [stage for stage in measured if stage.resumed]
    for stage in (*before[-1:], *(stage for stage in measured if not stage.resumed)):
        if stage.ended is not None:
            yield max(0.0, stage.ended - progress.beginning.time), stage


def objective_columns(progress: Progress) -> tuple[Columns, Columns]:
    """Return the estimated and the exact objectives of the whole problem.

    Returns
    -------
    estimates : dict
        At levels: ``seconds``, ``stage``, ``objective``, ``lower`` and ``upper`` (by one standard
        error), and ``text``, the estimate as text.
    exact : dict
        At later stages: the same keys without ``lower`` and ``upper``.
    """
    estimates: Columns = {key: [] for key in (*POINT, "objective", "lower", "upper", "text")}
    exact: Columns = {key: [] for key in (*POINT, "objective", "text")}
    for seconds, stage in points(progress):
        record = stage.record
        if "objective_estimate" in record:
            value, error = record["objective_estimate"], record["objective_error"]
            text = estimate_of(value, error)
            extra = {"lower": value - error, "upper": value + error}
            _add(estimates, seconds, stage, objective=value, text=text, **extra)
        else:
            text = figure_of(float(record["objective"]))
            _add(exact, seconds, stage, objective=record["objective"], text=text)
    return estimates, exact


def gap_columns(progress: Progress) -> Columns:
    """Return the duality gaps of the whole problem; at levels an estimate with its error.

    The gap of refinement is left out: it bounds the problem of the support vectors only.
    """
    columns: Columns = {key: [] for key in (*POINT, "gap", "lower", "upper", "text")}
    for seconds, stage in points(progress):
        gap = stage.record.get("gap", stage.record.get("gap_estimate"))
        if gap is None or not gap > 0 or not stage.kind.of_all_rows:
            continue
        error = stage.record.get("gap_error", 0.0)
        text = estimate_of(gap, error)
        # A log scale has no zero.
        lower, upper = max(gap - error, 0.1 * gap), gap + error
        _add(columns, seconds, stage, gap=gap, lower=lower, upper=upper, text=text)
    return columns


def above_columns(progress: Progress) -> Columns:
    """Return the differences of exact objectives to the best one so far, which is left out."""
    columns: Columns = {key: [] for key in (*POINT, "above", "text")}
    exact = [(at, stage) for at, stage in points(progress) if "objective" in stage.record]
    exact = [(at, stage) for at, stage in exact if "objective_estimate" not in stage.record]
    best = min((stage.record["objective"] for _, stage in exact), default=0.0)
    for seconds, stage in exact:
        above = stage.record["objective"] - best
        if above > ROUNDING * abs(best):
            _add(columns, seconds, stage, above=above, text=figure_of(float(above)))
    return columns


def round_columns(progress: Progress) -> Columns:
    """Return the violation and the changed alphas of each round.

    A round that only recomputes f changes no alpha; ``moved`` is NaN there.
    """
    columns: Columns = {key: [] for key in ("round", "stage", "chain", "violation", "moved")}
    for stage in progress.stages.values():
        if not stage.kind.until_tolerance or stage.state != DONE or "violation" not in stage.record:
            continue
        columns["round"].append(len(columns["round"]))
        columns["stage"].append(stage.name)
        columns["chain"].append(stage.kind.name)
        columns["violation"].append(stage.record["violation"] or math.nan)
        columns["moved"].append(stage.record.get("moved") or math.nan)
    return columns


def fall_columns(progress: Progress) -> Columns:
    """Return the violation that working sets found, over time, also between commits.

    ``rate`` is the number of working sets a second since the point before.
    """
    columns: Columns = {key: [] for key in ("seconds", "sets", "violation", "rate")}
    if progress.beginning is None:
        return columns
    before, sets = math.inf, 0
    for at, number, violation in progress.falls:
        columns["seconds"].append(max(0.0, at - progress.beginning.time))
        columns["sets"].append(number)
        columns["violation"].append(violation or math.nan)
        new = at > before and number > sets
        columns["rate"].append((number - sets) / (at - before) if new else math.nan)
        before, sets = at, number
    return columns


def round_labels(stages: list[str]) -> dict[int, str]:
    """Return the labels of rounds by position.

    The first one of a chain has the chain's name below.
    """
    step, labels, before = -(-len(stages) // 10), dict[int, str](), ""
    for at, stage in enumerate(stages):
        chain, number = StageId(stage).kind, StageId(stage).number
        if chain != before:
            labels[at] = f"{number}\n{chain}"
        elif at % step == 0:
            labels[at] = str(number)
        before = chain
    return labels


def support_columns(progress: Progress) -> Columns:
    """Return free and bounded support vectors of each level, and of the latest rounds."""
    found: dict[str, tuple[int, int]] = {}
    for stage in progress.stages.values():
        measured = stage.state == DONE and stage.kind.measures
        if not measured or "bounded" not in stage.record:
            continue
        level = StageId(stage.name).height
        name = f"level {level}" if level else stage.kind.name
        found[name] = stage.record["support"], stage.record["bounded"]
    return {
        "name": list(found),
        "free": [support - bounded for support, bounded in found.values()],
        "bounded": [bounded for _, bounded in found.values()],
        "support": [support for support, _ in found.values()],
    }


def log_range(values: Iterable[float]) -> tuple[float, float]:
    """Return a range of at least one whole decade around positive values, with a margin."""
    known = [value for value in values if value > 0 and math.isfinite(value)]
    known = known or [0.1, 10.0]
    low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
    return 10.0 ** (low - LOG_ROOM), 10.0 ** (max(high, low + 1) + LOG_ROOM)


def linear_range(values: Iterable[float]) -> tuple[float, float]:
    """Return a range around some values with a margin."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return 0.0, 1.0
    room = 0.08 * (max(known) - min(known)) or 0.01 * abs(known[0]) or 1.0
    return min(known) - room, max(known) + room


def _add(columns: Columns, seconds: float, stage: StageProgress, **values: Any) -> None:
    columns["seconds"].append(seconds)
    columns["stage"].append(stage.name)
    for key, value in values.items():
        columns[key].append(value)
