"""The tree of a run as rows of a table: one a stage, one for a chain of rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dcsvm_dask.diagnostics.numbers import brief, counted
from dcsvm_dask.diagnostics.progress.progress import DONE, RUNNING, WAITING, Progress, StageProgress
from dcsvm_dask.diagnostics.progress.stage import SOLVE
from dcsvm_dask.runtime.events import Advanced
from dcsvm_dask.storage.stage_id import ABOUT, CHAINS, StageId

STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    name: str
    state: str
    share: float
    count: str
    """Blocks or tasks that are done, of how many; or what else it is at."""
    seconds: float | None
    """How long it has taken; None: it has not begun, or did before this process."""
    left: float | None
    """How much longer it is likely to take; None: nobody knows."""


def rows(progress: Progress, now: float) -> list[Row]:
    """Return the rows of a run, those done first."""
    return list(_rows(progress, now))


def _rows(progress: Progress, now: float) -> Iterator[Row]:
    chains: dict[str, list[StageProgress]] = {}
    scoring: set[str] = {
        StageId(s.name).origin for s in _of(progress, "score") if s.state == RUNNING
    }
    calibrated: dict[str, StageProgress] = {
        StageId(s.name).subject: s for s in _of(progress, "committee") if s.state == RUNNING
    }
    for stage in progress.stages.values():
        if stage.kind in CHAINS:
            chains.setdefault(stage.kind, []).append(stage)
    shown = set()
    for stage in progress.stages.values():
        if stage.kind in ABOUT:
            continue
        if stage.name in calibrated:
            found = _of_stage(progress, calibrated[stage.name], now, scoring=False)
            yield replace(found, name=stage.name)
        elif stage.kind not in chains:
            yield _of_stage(progress, stage, now, scoring=stage.name in scoring)
        elif stage.kind not in shown:
            shown.add(stage.kind)
            yield _of_chain(progress, chains[stage.kind], now)
    yield from _of_model(progress, now, scoring)


def _of_stage(progress: Progress, stage: StageProgress, now: float, *, scoring: bool) -> Row:
    state = _state(progress, stage)
    left = progress.stage_left(stage, now) if state in (RUNNING, WAITING) else None
    began = stage.state != WAITING and not stage.resumed
    seconds = stage.seconds(now) if began else None
    count = "scoring" if scoring else _count(stage)
    return Row(stage.name, state, _share(stage, seconds, left), count, seconds, left)


def _of_chain(progress: Progress, chain: list[StageProgress], now: float) -> Row:
    """Return the row of a chain of rounds: that of the round under way, with what is to come."""
    begun = [stage for stage in chain if stage.state != WAITING]
    kind = chain[0].kind
    left = progress.chain_left(kind, now)
    if not begun:
        return Row(kind, WAITING, 0.0, "rounds", None, left)
    last = begun[-1]
    mine = [stage for stage in begun if not stage.resumed]
    seconds = sum(stage.seconds(now) for stage in mine) if mine else None
    number = StageId(last.name).number or 0
    latest = [stage for stage in progress.stages.values() if stage.state != WAITING][-1]
    if last.state == DONE and (last is not latest or progress.ending is not None):
        rounds = counted(number, "round") if number else "checked"
        return Row(kind, DONE, 1.0, rounds, seconds, None)
    if last.state == DONE:  # the next round is about to begin
        return Row(kind, RUNNING, 1.0, f"round {number}", seconds, left)
    under_way = f"round {number}: {_count(last)}" if number else _count(last)
    return Row(kind, _state(progress, last), last.share, under_way, seconds, left)


def _of_model(progress: Progress, now: float, scoring: set[str]) -> Iterator[Row]:
    """Yield the row of the exact model, which its score belongs to."""
    models = _of(progress, "model")
    if not models:
        goes_on = progress.ending is None and progress.plan
        about = progress.beginning.about if progress.beginning else {}
        if goes_on and not (about.get("stop_at") or about.get("candidates")):
            yield Row("model", WAITING, 0.0, "", None, None)
        return
    model = models[-1]
    scores = [s for s in _of(progress, "score") if StageId(s.name).subject == model.name]
    last = scores[-1] if scores else model
    seconds = None if model.resumed else sum(s.seconds(now) for s in (model, *scores))
    count = "scoring" if model.name in scoring else ""
    share = 1.0 if last.state == DONE else 0.5 * (len(scores) > 0)
    left = None
    if model.state == RUNNING and model.advanced:
        count, share, left = _count(model), model.share, progress.stage_left(model, now)
    yield Row("model", _state(progress, last), share, count, seconds, left)


def _of(progress: Progress, kind: str) -> list[StageProgress]:
    return [stage for stage in progress.stages.values() if stage.kind == kind]


def _state(progress: Progress, stage: StageProgress) -> str:
    return STOPPED if stage.state == RUNNING and progress.ending is not None else stage.state


def _count(stage: StageProgress) -> str:
    """Return how much of a stage is done: blocks of a level, else tasks of the layer under way."""
    if stage.resumed:
        return "committed before"
    blocks = stage.n_blocks and (stage.state == DONE or _under_way(stage) == SOLVE)
    if blocks and stage.state == DONE:
        return counted(stage.n_blocks, "block")
    if blocks:
        return f"{min(stage.solved, stage.n_blocks)}/{stage.n_blocks} blocks"
    if stage.state != RUNNING:
        return counted(stage.tasks, "task")
    layer = _under_way(stage)
    if layer == SOLVE and stage.sets:
        return f"set {stage.sets + 1}, violation {brief(stage.reached['violation'])}"
    many = stage.layers.get(layer, 0) > 1
    if stage.advanced and not many:
        return how_far(next(reversed(stage.advanced.values())))
    return f"{layer} {stage.done.get(layer, 0)}/{stage.layers[layer]}" if many else layer


def how_far(told: Advanced) -> str:
    """Return how much of what a task has done: 12,800/50,000 rows."""
    if told.total:
        return f"{told.done:,}/{told.total:,} {told.unit}"
    return f"{told.done:,} {told.unit}"


def _under_way(stage: StageProgress) -> str:
    """Return the layer whose tasks are next."""
    left = (name for name, count in stage.layers.items() if stage.done.get(name, 0) < count)
    return next(left, "commit")


def _share(stage: StageProgress, seconds: float | None, left: float | None) -> float:
    """Return how far a bar is; with few large blocks their time tells more than their number."""
    if stage.state != RUNNING or not stage.blocks or not seconds or left is None:
        return stage.share
    return max(stage.share, seconds / (seconds + left))
