"""The stages of a run as rows of a table of coloured text; a chain of rounds is one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dcsvm_dask.diagnostics.colours import GREY, RED, STATES
from dcsvm_dask.diagnostics.progress.progress import DONE, RUNNING, WAITING, Progress, StageProgress
from dcsvm_dask.diagnostics.progress.stage import SOLVE
from dcsvm_dask.masking import printable
from dcsvm_dask.numbers import brief, clock, counted
from dcsvm_dask.runtime.events import Advanced, NoWorkers, TaskFailed, WorkerLost
from dcsvm_dask.storage.stage_id import ABOUT, COMMITTEE, MODEL, SCORE, StageId
from dcsvm_dask.tasks.scores import score_text, scores_in

STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    name: str
    state: str
    share: float
    count: str
    """Blocks or tasks that are done and their number, or another figure of the stage."""
    seconds: float | None
    """Elapsed time; None if the stage has not begun, or was done before this process."""
    left: float | None
    """Estimated remaining time in seconds; None without an estimate."""
    score: str = ""
    """The main score of the model that the stage has committed, on held-out rows."""


def rows(progress: Progress, now: float) -> list[Row]:
    """Return the rows of a run, those of done stages first."""
    return list(_rows(progress, now))


def _rows(progress: Progress, now: float) -> Iterator[Row]:
    chains: dict[str, list[StageProgress]] = {}
    scoring: set[str] = {StageId(s.name).origin for s in _of(progress, SCORE) if s.state == RUNNING}
    calibrated: dict[str, StageProgress] = {
        StageId(s.name).subject: s for s in _of(progress, COMMITTEE) if s.state == RUNNING
    }
    for stage in progress.stages.values():
        if stage.kind.until_tolerance:
            chains.setdefault(stage.kind.name, []).append(stage)
    shown = set()
    for stage in progress.stages.values():
        name = stage.kind.name
        if name in ABOUT:
            continue
        if stage.name in calibrated:
            found = _of_stage(progress, calibrated[stage.name], now, scoring=False)
            yield replace(found, name=stage.name)
        elif name not in chains:
            yield _of_stage(progress, stage, now, scoring=stage.name in scoring)
        elif name not in shown:
            shown.add(name)
            yield _of_chain(progress, chains[name], now)
    yield from _of_model(progress, now, scoring)


def _of_stage(progress: Progress, stage: StageProgress, now: float, *, scoring: bool) -> Row:
    state = _state(progress, stage)
    left = progress.stage_left(stage, now) if state in (RUNNING, WAITING) else None
    began = stage.state != WAITING and not stage.resumed
    seconds = stage.seconds(now) if began else None
    count = "scoring" if scoring else _count(stage)
    share, score = _share(stage, seconds, left), _score(progress, stage.name)
    return Row(stage.name, state, share, count, seconds, left, score)


def _of_chain(progress: Progress, chain: list[StageProgress], now: float) -> Row:
    """Return the row of a chain of rounds: the present round with the time left for all."""
    begun = [stage for stage in chain if stage.state != WAITING]
    kind, left = chain[0].kind.name, progress.chain_left(chain[0].kind, now)
    if not begun:
        rounds = "working sets" if chain[0].kind.of_sets else "rounds"
        return Row(kind, WAITING, 0.0, rounds, None, left)
    last = begun[-1]
    mine = [stage for stage in begun if not stage.resumed]
    seconds = sum(stage.seconds(now) for stage in mine) if mine else None
    number = StageId(last.name).number or 0
    latest = [stage for stage in progress.stages.values() if stage.state != WAITING][-1]
    if last.state == DONE and (last is not latest or progress.ending is not None):
        rounds = counted(number, "round") if number else "checked"
        if progress.sets:
            rounds = counted(progress.sets, "working set")
        return Row(kind, DONE, 1.0, rounds, seconds, None)
    if last.kind.of_sets:
        fallen = max(stage.fallen for stage in begun)
        count = _count(last) if last.layers and not last.solves_sets else _sets_so_far(progress)
        return Row(kind, _state(progress, last), fallen, count, seconds, left)
    if last.state == DONE:  # the next round is about to begin
        return Row(kind, RUNNING, 1.0, f"round {number}", seconds, left)
    under_way = f"round {number}: {_count(last)}" if number else _count(last)
    return Row(kind, _state(progress, last), last.share, under_way, seconds, left)


def _of_model(progress: Progress, now: float, scoring: set[str]) -> Iterator[Row]:
    """Yield the row of the exact model with its score."""
    models = _of(progress, MODEL)
    if not models:
        goes_on = progress.ending is None and progress.plan
        about = progress.beginning.about if progress.beginning else {}
        if goes_on and not (about.get("stop_at") or about.get("candidates")):
            yield Row("model", WAITING, 0.0, "", None, None)
        return
    model = models[-1]
    scores = [s for s in _of(progress, SCORE) if StageId(s.name).subject == model.name]
    last = scores[-1] if scores else model
    seconds = None if model.resumed else sum(s.seconds(now) for s in (model, *scores))
    count = "scoring" if model.name in scoring else ""
    share = 1.0 if last.state == DONE else 0.5 * (len(scores) > 0)
    left = None
    if model.state == RUNNING and model.advanced:
        count, share, left = _count(model), model.share, progress.stage_left(model, now)
    score = _score(progress, model.name)
    yield Row("model", _state(progress, last), share, count, seconds, left, score)


def _score(progress: Progress, stage: str) -> str:
    """Return the main score of a stage's model in words; empty where it has none yet."""
    scored = progress.stages.get(StageId.about(SCORE, stage))
    found = scores_in(scored.record) if scored is not None and scored.state == DONE else []
    if not found:
        return ""
    text = score_text(*found[0])
    return text if len(text) < LEFT else text.rpartition(" ")[2]


def _of(progress: Progress, kind: str) -> list[StageProgress]:
    return [stage for stage in progress.stages.values() if stage.kind.name == kind]


def _state(progress: Progress, stage: StageProgress) -> str:
    return STOPPED if stage.state == RUNNING and progress.ending is not None else stage.state


def _count(stage: StageProgress) -> str:
    """Return the done part of a stage: blocks of a level, else tasks of the present layer."""
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


def _sets_so_far(progress: Progress) -> str:
    """Return the number of working sets of the chain and their violation."""
    falls = progress.falls
    if not falls:
        return f"set {progress.sets + 1}"
    return f"set {progress.sets:,}, violation {brief(falls[-1][2])}"


def how_far(event: Advanced) -> str:
    """Return the reported progress of a task: 12,800/50,000 rows."""
    if event.total:
        return f"{event.done:,}/{event.total:,} {event.unit}"
    return f"{event.done:,} {event.unit}"


def _under_way(stage: StageProgress) -> str:
    """Return the first layer whose tasks are not all done."""
    left = (name for name, count in stage.layers.items() if stage.done.get(name, 0) < count)
    return next(left, "commit")


def _share(stage: StageProgress, seconds: float | None, left: float | None) -> float:
    """Return the filled share of a bar.

    With few large blocks it follows the elapsed time, which says more than their number.
    """
    if stage.state != RUNNING or not stage.blocks or not seconds or left is None:
        return stage.share
    return max(stage.share, seconds / (seconds + left))


if TYPE_CHECKING:
    from rich.text import Text

NAME, LONGEST_NAME, SECONDS, LEFT, LONGEST_BAR, SHORTEST_BAR = 9, 16, 7, 17, 60, 6
COUNTS = (22, 16)
"""Widths of the column that counts blocks and tasks, in wide and in narrow lines."""
WIDE = 76
STANDING = {"support": "support vectors", "objective": "objective", "violation": "violation"}
"""Labels of the figures that are shown of a task that reports its progress."""
STYLES = {WAITING: GREY, RUNNING: "bold", DONE: "", STOPPED: RED}


def table(progress: Progress, now: float, width: int, height: int, *, ascii_only: bool) -> Text:
    """Return the rows of a run and the lines below them, cut to a width and a height.

    Parameters
    ----------
    progress : Progress
    now : float
        Seconds since 1970.
    width, height : int
        Characters and lines.
    ascii_only : bool
        Whether the terminal shows ASCII only.

    Returns
    -------
    rich.text.Text
    """
    from rich.text import Text

    below = foot(progress, now, width, ascii_only=ascii_only)
    shown = fitting(progress, now, height)
    name = min(LONGEST_NAME, max(len(printable(row.name)) for row in shown)) if shown else NAME
    lines = [row_line(row, width, max(NAME, name), ascii_only=ascii_only) for row in shown]
    return Text("\n", no_wrap=True, overflow="crop").join([*lines, Text(), *below])


def fitting(progress: Progress, now: float, height: int) -> list[Row]:
    """Return the rows that fit into a height; done stages are dropped first, then the last planned.

    Parameters
    ----------
    progress : Progress
    now : float
        Seconds since 1970.
    height : int
        Lines.

    Returns
    -------
    list of Row
    """
    found, most = rows(progress, now), max(1, height - 5)
    while len(found) > most:
        done = [row for row in found if row.state == DONE]
        found.remove(done[0] if done else found[-1])
    return found


def row_line(row: Row, width: int, name: int = NAME, *, ascii_only: bool) -> Text:
    """Return a row as a line of at most `width` characters.

    Parameters
    ----------
    row : Row
    width : int
    name : int, default 9
        Characters of the names of all rows.
    ascii_only : bool
        Whether the terminal shows ASCII only.

    Returns
    -------
    rich.text.Text
    """
    from rich.text import Text

    counts = COUNTS[0 if width >= WIDE else 1]
    bar = min(LONGEST_BAR, width - name - counts - SECONDS - LEFT - 4)
    text = Text(no_wrap=True, overflow="crop")
    text.append(f"{printable(row.name):<{name}}  ", style=STYLES[row.state])
    if bar >= SHORTEST_BAR:
        text.append_text(bar_text(row, bar, ascii_only=ascii_only))
    count = row.count if len(row.count) <= counts else row.count.split(": ")[-1]
    text.append(f"  {count[:counts]:<{counts}}", style=STYLES[row.state])
    text.append("" if row.seconds is None else f"{clock(row.seconds):>{SECONDS}}")
    if row.state in (RUNNING, WAITING) and row.left is not None:
        begun = row.seconds is not None
        left = f"{clock(row.left)} left" if begun else f"~{clock(row.left)}     "
        text.append(f"{left:>{LEFT if begun else LEFT + SECONDS}}", style=GREY)
    elif row.state == STOPPED:
        text.append(f"{STOPPED:>{LEFT}}", style=RED)
    elif row.score:
        text.append(f"{row.score:>{LEFT + (SECONDS if row.seconds is None else 0)}}")
    return text


def bar_text(row: Row, width: int, *, ascii_only: bool) -> Text:
    """Return a progress bar of `width` characters.

    Parameters
    ----------
    row : Row
    width : int
    ascii_only : bool
        Whether the terminal shows ASCII only.

    Returns
    -------
    rich.text.Text
    """
    from rich.text import Text

    full, half, empty = ("#", "", "-") if ascii_only else ("━", "╸", "─")
    halves = int(2 * width * row.share)
    filled = full * (halves // 2) + (half if halves % 2 else "")
    colour = RED if row.state == STOPPED else STATES.get(row.state, GREY)
    text = Text(filled, style=colour)
    return text.append(empty * (width - len(filled)), style=STATES[WAITING] + " dim")


def foot(progress: Progress, now: float, width: int, *, ascii_only: bool) -> list[Text]:
    """Return the lines below the table: times, workers, work, figures and faults.

    Parameters
    ----------
    progress : Progress
    now : float
        Seconds since 1970.
    width : int
        Characters of a line.
    ascii_only : bool
        Whether the terminal shows ASCII only.

    Returns
    -------
    list of rich.text.Text
    """
    from rich.text import Text

    left = progress.left(now)
    parts = [(clock(progress.elapsed(now)), "bold")]
    if progress.ending is None and left is not None:
        parts.append((f"about {clock(left)} left", "bold"))
    parts.append((f"{progress.workers} worker" + "s" * (progress.workers != 1), ""))
    if progress.ns_per_kernel_value is not None:
        probed = "probe" in progress.stages
        measured = progress.plan.get("measured", {}).get("value_seconds") if probed else None
        each = f"{progress.ns_per_kernel_value:.1f} ns a kernel value"
        if progress.whole:
            values = f"{progress.kernel_values:.3g} kernel values"
            each = f"{values}, {progress.ns_per_kernel_value:.1f} ns each"
        parts.append((each + (f" ({1e9 * measured:.1f} in the probe)" if measured else ""), ""))
    if progress.sets_per_second is not None and progress.ending is None:
        parts.append((f"{brief(progress.sets_per_second)} working sets/s", ""))
    parts += [(text, "") for text in standing(progress)]
    parts += [(text, RED) for text in faults(progress)]
    if progress.beginning is not None and progress.beginning.dashboard and not progress.ending:
        parts.append((printable(page(progress.beginning.dashboard)), GREY))
    between = " | " if ascii_only else " · "
    lines = [Text(no_wrap=True, overflow="crop")]
    for text, style in parts:
        here = len(lines[-1].plain)
        if here and here + len(between) + len(text) > width:
            lines.append(Text(no_wrap=True, overflow="crop"))
        elif here:
            lines[-1].append(between, style=GREY)
        lines[-1].append(text, style=style)
    return lines


def standing(progress: Progress) -> list[str]:
    """Return the figures of the task that reported its progress last."""
    events = [
        event
        for stage in progress.stages.values()
        if stage.state == RUNNING and progress.ending is None
        for event in stage.advanced.values()
    ]
    if not events:
        return []
    record = max(events, key=lambda event: event.time).record
    return [f"{name} {brief(record[key])}" for key, name in STANDING.items() if key in record]


def faults(progress: Progress) -> Sequence[str]:
    """Return the number of lost workers and of retried steps, as texts."""
    lost = sum(isinstance(event, WorkerLost) for event in progress.faults)
    failed = sum(isinstance(event, TaskFailed) for event in progress.faults)
    texts = []
    if lost:
        texts.append(f"{lost} worker{'s' * (lost != 1)} lost")
    if failed:
        texts.append(f"{failed} step{'s' * (failed != 1)} tried again")
    if progress.faults and isinstance(progress.faults[-1], NoWorkers):
        later = progress.tasks and progress.tasks[-1].time > progress.faults[-1].time
        texts += [] if later else ["no worker is left"]
    return texts


def page(dashboard: str) -> str:
    """Return the address of the run's page in a dashboard."""
    return dashboard.removesuffix("/status") + "/dcsvm"
