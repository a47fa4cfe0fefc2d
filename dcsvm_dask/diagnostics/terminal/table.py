"""The tree of a run as coloured text, as wide as it may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dcsvm_dask.diagnostics.colours import GREY, RED, STATES
from dcsvm_dask.diagnostics.numbers import brief, clock
from dcsvm_dask.diagnostics.progress.progress import DONE, RUNNING, WAITING, Progress
from dcsvm_dask.diagnostics.terminal.rows import STOPPED, Row, rows
from dcsvm_dask.masking import printable
from dcsvm_dask.runtime.events import NoWorkers, TaskFailed, WorkerLost

if TYPE_CHECKING:
    from rich.text import Text

NAME, SECONDS, LEFT, LONGEST_BAR, SHORTEST_BAR = 9, 7, 13, 60, 6
COUNTS = (22, 16)
"""Widths of the column that counts blocks and tasks, in wide lines and in narrow ones."""
WIDE = 76
STANDING = {"support": "support vectors", "objective": "objective", "violation": "violation"}
"""What is shown of a task that tells how far it is, and its name there."""
STYLES = {WAITING: GREY, RUNNING: "bold", DONE: "", STOPPED: RED}


def table(progress: Progress, now: float, width: int, height: int, *, ascii_only: bool) -> Text:
    """Return the rows of a run and the lines below them, in at most some width and height."""
    from rich.text import Text

    below = foot(progress, now, width, ascii_only=ascii_only)
    lines = [row_line(row, width, ascii_only=ascii_only) for row in fitting(progress, now, height)]
    return Text("\n", no_wrap=True, overflow="crop").join([*lines, Text(), *below])


def fitting(progress: Progress, now: float, height: int) -> list[Row]:
    """Return the rows that fit into a height: first those done go, then those far ahead."""
    found, most = rows(progress, now), max(1, height - 5)
    while len(found) > most:
        done = [row for row in found if row.state == DONE]
        found.remove(done[0] if done else found[-1])
    return found


def row_line(row: Row, width: int, *, ascii_only: bool) -> Text:
    """Return a row as text."""
    from rich.text import Text

    counts = COUNTS[0 if width >= WIDE else 1]
    bar = min(LONGEST_BAR, width - NAME - counts - SECONDS - LEFT - 4)
    text = Text(no_wrap=True, overflow="crop")
    text.append(f"{printable(row.name):<{NAME}}  ", style=STYLES[row.state])
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
    return text


def bar_text(row: Row, width: int, *, ascii_only: bool) -> Text:
    """Return a bar that is filled as far as the row is done."""
    from rich.text import Text

    full, half, empty = ("#", "", "-") if ascii_only else ("━", "╸", "─")
    halves = int(2 * width * row.share)
    filled = full * (halves // 2) + (half if halves % 2 else "")
    colour = RED if row.state == STOPPED else STATES.get(row.state, GREY)
    text = Text(filled, style=colour)
    return text.append(empty * (width - len(filled)), style=STATES[WAITING] + " dim")


def foot(progress: Progress, now: float, width: int, *, ascii_only: bool) -> list[Text]:
    """Return the lines below the table: how far the run is, what computes it, what went wrong."""
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
    """Return where the task stands that told last how far it is."""
    told = [
        event
        for stage in progress.stages.values()
        if stage.state == RUNNING and progress.ending is None
        for event in stage.advanced.values()
    ]
    if not told:
        return []
    record = max(told, key=lambda event: event.time).record
    return [f"{name} {brief(record[key])}" for key, name in STANDING.items() if key in record]


def faults(progress: Progress) -> Sequence[str]:
    """Return what went wrong so far, counted."""
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
