"""Where a run has been: objective, gap, violation, changed alphas, support vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from dcsvm_dask.diagnostics.dashboard.blocks import Columns
from dcsvm_dask.diagnostics.dashboard.words import estimate_of, figure_of
from dcsvm_dask.diagnostics.progress.progress import DONE, Progress, StageProgress
from dcsvm_dask.storage.stage_id import CHAINS, LEVEL, MODEL, REFINE, SCORE, StageId

ROUNDING = 1e-12
"""Differences of objectives below this share of them say nothing."""
LOG_ROOM = 0.1
"""Decades beyond the ends of a log scale, so that a point there is whole."""
POINT = ("seconds", "stage")


def points(progress: Progress) -> Iterator[tuple[float, StageProgress]]:
    """Yield the stages that measured the whole problem, and after how many seconds they did.

    Of those that were committed before this process began only the last, at its beginning.
    """
    if progress.beginning is None:
        return
    measured = [
        stage
        for stage in progress.stages.values()
        if stage.state == DONE
        and stage.kind not in (SCORE, MODEL)
        and ("objective_estimate" in stage.record or "gap" in stage.record)
    ]
    before = [stage for stage in measured if stage.resumed]
    for stage in (*before[-1:], *(stage for stage in measured if not stage.resumed)):
        if stage.ended is not None:
            yield max(0.0, stage.ended - progress.beginning.time), stage


def objective_columns(progress: Progress) -> tuple[Columns, Columns]:
    """Return the objective of the whole problem as levels estimate it, and as it is from then on.

    Returns
    -------
    estimates : dict
        ``seconds``, ``stage``, ``objective``, its standard error as ``lower`` and ``upper``, and
        as text ``said``.
    exact : dict
        The same without the error.
    """
    estimates: Columns = {key: [] for key in (*POINT, "objective", "lower", "upper", "said")}
    exact: Columns = {key: [] for key in (*POINT, "objective", "said")}
    for seconds, stage in points(progress):
        record = stage.record
        if "objective_estimate" in record:
            value, error = record["objective_estimate"], record["objective_error"]
            said = estimate_of(value, error)
            extra = {"lower": value - error, "upper": value + error}
            _add(estimates, seconds, stage, objective=value, said=said, **extra)
        else:
            said = figure_of(float(record["objective"]))
            _add(exact, seconds, stage, objective=record["objective"], said=said)
    return estimates, exact


def gap_columns(progress: Progress) -> Columns:
    """Return the duality gap of the whole problem; at levels an estimate with its error.

    That of refinement bounds the problem of the support vectors alone, and is left out.
    """
    columns: Columns = {key: [] for key in (*POINT, "gap", "lower", "upper", "said")}
    for seconds, stage in points(progress):
        gap = stage.record.get("gap", stage.record.get("gap_estimate"))
        if gap is None or not gap > 0 or stage.kind == REFINE:
            continue
        error = stage.record.get("gap_error", 0.0)
        said = estimate_of(gap, error)
        # A log scale has no zero.
        lower, upper = max(gap - error, 0.1 * gap), gap + error
        _add(columns, seconds, stage, gap=gap, lower=lower, upper=upper, said=said)
    return columns


def above_columns(progress: Progress) -> Columns:
    """Return how far above the best objective so far each exact one is; the best is left out."""
    columns: Columns = {key: [] for key in (*POINT, "above", "said")}
    exact = [(at, stage) for at, stage in points(progress) if "objective" in stage.record]
    exact = [(at, stage) for at, stage in exact if "objective_estimate" not in stage.record]
    best = min((stage.record["objective"] for _, stage in exact), default=0.0)
    for seconds, stage in exact:
        above = stage.record["objective"] - best
        if above > ROUNDING * abs(best):
            _add(columns, seconds, stage, above=above, said=figure_of(float(above)))
    return columns


def round_columns(progress: Progress) -> Columns:
    """Return violation and changed alphas of each round of refinement and conquer.

    A look from scratch changes none; ``moved`` is nothing (NaN) there.
    """
    columns: Columns = {key: [] for key in ("round", "stage", "chain", "violation", "moved")}
    for stage in progress.stages.values():
        chain = stage.kind
        if chain not in CHAINS or stage.state != DONE or "violation" not in stage.record:
            continue
        columns["round"].append(len(columns["round"]))
        columns["stage"].append(stage.name)
        columns["chain"].append(chain)
        columns["violation"].append(stage.record["violation"] or math.nan)
        columns["moved"].append(stage.record.get("moved") or math.nan)
    return columns


def round_labels(stages: list[str]) -> dict[int, str]:
    """Return the numbers of some rounds as labels, a chain's first with its name below."""
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
    """Return free and bounded support vectors of each level, and of where the rounds are."""
    found: dict[str, tuple[int, int]] = {}
    for stage in progress.stages.values():
        kind = stage.kind
        if stage.state != DONE or kind not in (LEVEL, *CHAINS) or "bounded" not in stage.record:
            continue
        name = f"level {StageId(stage.name).height}" if kind == LEVEL else kind
        found[name] = stage.record["support"], stage.record["bounded"]
    return {
        "name": list(found),
        "free": [support - bounded for support, bounded in found.values()],
        "bounded": [bounded for _, bounded in found.values()],
        "support": [support for support, _ in found.values()],
    }


def log_range(values: Iterable[float]) -> tuple[float, float]:
    """Return a range of whole decades around some values above 0, at least one, and some room."""
    known = [value for value in values if value > 0 and math.isfinite(value)]
    known = known or [0.1, 10.0]
    low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
    return 10.0 ** (low - LOG_ROOM), 10.0 ** (max(high, low + 1) + LOG_ROOM)


def linear_range(values: Iterable[float]) -> tuple[float, float]:
    """Return a range around some values, with a little room."""
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
