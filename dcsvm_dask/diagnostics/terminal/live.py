"""A run on a terminal: a line for each commit, and below the lines the stages with their bars."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dcsvm_dask.diagnostics.colours import GREY, RED
from dcsvm_dask.diagnostics.lines import fault, other_versions
from dcsvm_dask.diagnostics.outline import in_brief
from dcsvm_dask.diagnostics.penalties import penalties
from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.diagnostics.terminal.closing import shown
from dcsvm_dask.diagnostics.terminal.table import table
from dcsvm_dask.kernels import parameters_of
from dcsvm_dask.masking import printable
from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.numbers import aligned, brief, clock, counted, decimals_of
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import (
    Event,
    Fault,
    Notice,
    OtherVersions,
    Planned,
    RunBegins,
    RunEnds,
    StageBegins,
    StageDone,
)
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import (
    COMMITTEE,
    MODEL,
    PARTITION,
    SCORE,
    StageId,
    scores_of,
)
from dcsvm_dask.tasks.scores import scores_in

LEFT = "<"
RIGHT = ">"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, least width, and the side on which its text is aligned."""

    key: str
    heading: str
    short: str
    width: int
    side: str = RIGHT


COLUMNS = (
    Column("time", "time", "time", 7),
    Column("stage", "stage", "stage", 11, LEFT),
    Column("objective", "objective", "objective", 15),
    Column("error", "error", "error", 9, LEFT),
    Column("gap", "duality gap", "gap", 9),
    Column("violation", "violation", "viol.", 7),
    Column("support", "support vectors", "SVs", 7),
    Column("accuracy", "accuracy", "acc.", 6),
)
ROUNDING = 1e-9
"""Share of an objective up to which an error is rounding."""
NEEDLESS = ("error", "time", "violation", "gap", "accuracy")
"""Columns that narrow lines leave out, the first one first."""


def is_point(stage: str) -> bool:
    """Return whether a stage's commit measures the whole problem."""
    return kind_of(stage).measures


def figures(seconds: float, stage: str, record: Record, score: float | None) -> dict[str, str]:
    """Return the figures of a commit as texts by the keys of `COLUMNS`.

    A level's violation is that of its blocks, gap and violation of refinement are those of the
    support vectors' problem, so they are left out.

    Parameters
    ----------
    seconds : float
        Time of the commit since the run began.
    stage : str
    record : dict
        Record of the commit.
    score : float or None
        The main one on held-out rows; None where it was not scored.

    Returns
    -------
    dict of str to str
    """
    at_level = "objective_estimate" in record
    objective = record["objective_estimate" if at_level else "objective"]
    # Without kernel values between blocks the objective is exact.
    exact = not at_level or record["objective_error"] <= ROUNDING * abs(objective)
    gap = record.get("gap", record.get("gap_estimate"))
    found = {
        "time": clock(seconds),
        "stage": stage,
        "objective": aligned(objective, decimals_of(objective), exact=exact),
        "support": f"{record['support']:,}",
    }
    if not exact:
        found["error"] = "+-" + brief(record["objective_error"])
    of_all_rows = kind_of(stage).of_all_rows
    if not of_all_rows:
        gap = None
    if gap is not None:
        found["gap"] = ("" if exact else "~") + brief(gap)
    if not at_level and "violation" in record and of_all_rows:
        found["violation"] = f"{record['violation']:.1e}"
    if score is not None:
        found["accuracy"] = f"{score:.4f}" if abs(score) < 10.0 else f"{score:.4g}"
    return found


def headings(width: int, score: str | None = None) -> str:
    """Return the line of headings; `score` is the name of the score where it is not accuracy."""
    long, columns = layout(width)
    names = {c.key: c.heading if long else c.short for c in columns}
    if score is not None and "accuracy" in names:
        names["accuracy"] = score
    return _line(columns, names, width)


def has_time(width: int) -> bool:
    """Return whether lines of some width have a column of times."""
    return any(column.key == "time" for column in layout(width)[1])


def line(texts: dict[str, str], width: int) -> str:
    """Return figures in a line of at most some width."""
    _, columns = layout(width)
    return _line(columns, texts, width)


def layout(width: int) -> tuple[bool, list[Column]]:
    """Return whether full headings fit into a width, and the columns that fit."""
    columns = list(COLUMNS)
    long = [
        Column(c.key, c.heading, c.short, max(c.width, len(c.heading)), c.side) for c in columns
    ]
    if sum(c.width for c in long) + 2 * (len(long) - 1) <= width:
        return True, long
    for needless in ("", *NEEDLESS):
        columns = [c for c in columns if c.key != needless]
        if sum(c.width for c in columns) + len(columns) - 1 <= width:
            break
    return False, columns


def _line(columns: list[Column], texts: dict[str, str], width: int) -> str:
    return " ".join(_cells(columns, texts, width)).rstrip()


def _cells(columns: list[Column], texts: dict[str, str], width: int) -> Iterator[str]:
    free = width - sum(c.width for c in columns) - len(columns) + 1
    # Wide lines have two spaces between columns.
    more = " " if free >= len(columns) - 1 else ""
    for i, column in enumerate(columns):
        text = texts.get(column.key, "")
        yield (more if i else "") + f"{text:{column.side}{column.width}}"


if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

PER_SECOND = 4
HEADINGS_EVERY = 40
"""Lines between two headings: about a screen."""


class Terminal(Callback):
    """Shows a run on a terminal.

    Parameters
    ----------
    console : rich.console.Console, optional
        The console to print on; standard error by default, which leaves standard output to results.
    """

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._console = console or Console(stderr=True, highlight=False)
        self._ascii = self._console.options.ascii_only
        # Drawing has a thread of its own, so that seconds count between events.
        self._lock = threading.Lock()
        self._spinner = Spinner("line" if self._ascii else "dots")
        self._progress = Progress()
        self._doing, self._since = "", 0.0
        self._pending: StageDone | None = None
        self._lines = 0
        self._live = Live(
            console=self._console,
            get_renderable=self._render,
            refresh_per_second=PER_SECOND,
            vertical_overflow="crop",
            # Output of others is printed above the bars; output to files is not redirected.
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
        )

    def on_event(self, event: Event) -> None:
        """Update the progress, then print the event's line."""
        with self._lock:
            self._progress.on_event(event)
        super().on_event(event)

    def on_begin(self, event: RunBegins) -> None:
        """Print the problem that is trained, and begin to show the stages."""
        with self._lock:
            self._doing = ""
        about = event.about
        rows = f"{about['rows']:,} rows of {shown(about['data'])}"
        own = [f"{name} {value}" for name, value in penalties(about).items()]
        what = [kernel_text(about["kernel"]), *own]
        if "candidates" in about:
            kernel = about["kernel"]["name"]
            what = [f"search over {counted(about['candidates'], 'candidate')}", f"{kernel} kernel"]
        self._print(rows, *what, style=GREY)
        self._start()

    def on_plan(self, event: Planned) -> None:
        """Print the estimated time, memory and work of the run."""
        self._sentence(event, "plan", in_brief(event.plan))

    def on_stage(self, event: StageBegins) -> None:
        """Print the line of the stage before, unless its score is the next stage."""
        if self._pending is not None and event.stage not in ending_in_score(self._pending.stage):
            self._print_pending()

    def on_commit(self, event: StageDone) -> None:
        """Print the result of a stage; one that may be scored next waits for its score."""
        if is_point(event.stage):
            self._print_pending()
            self._pending = event
        elif StageId(event.stage).kind == SCORE and self._pending is not None:
            self._print_pending(event.record)
        elif not event.resumed and StageId(event.stage).kind != MODEL:
            stage = StageId(event.stage)
            # A committee is named by its level, and so is a partition that is weighed.
            about = stage.origin if COMMITTEE in (stage.kind, stage.subject.kind) else stage
            about = stage.subject if stage.kind == PARTITION else about
            self._sentence(event, about, kind_of(stage).describe(event.record))

    def on_fault(self, event: Fault) -> None:
        """Print a fault."""
        self._sentence(event, "", fault(event), style=RED)

    def on_versions(self, event: OtherVersions) -> None:
        """Print the versions that differ."""
        self._sentence(event, "", other_versions(event), style=RED)

    def on_notice(self, event: Notice) -> None:
        """Print a sentence, or show it with its seconds while it lasts."""
        if not event.doing:
            self._print(event.text)
            return
        with self._lock:
            self._doing, self._since = event.text, event.time
        self._start()

    def on_end(self, event: RunEnds) -> None:  # noqa: ARG002 (`closing` shows it)
        """Stop drawing and leave the terminal in order."""
        self._print_pending()
        with self._lock:
            self._doing = ""
        self._live.stop()

    def close(self) -> None:
        """Leave the terminal in order."""
        self._live.stop()

    def _start(self) -> None:
        if not self._live.is_started:
            self._live.start(refresh=True)
            # A killed run must leave the cursor visible.
            self._console.show_cursor(True)

    def _render(self) -> RenderableType:
        """Return the drawing of the stages."""
        from rich.text import Text

        width, height = self._console.width, self._console.height
        with self._lock:
            now = time.time()
            if self._doing:
                self._spinner.update(text=f"{self._doing}  {clock(now - self._since)}")
                return self._spinner
            if self._progress.beginning is None:
                return Text()
            tree = table(self._progress, now, width, height, ascii_only=self._ascii)
            pending = self._pending
        above = Text() if pending is None else self._figures(pending, None).append("\n")
        return above.append("\n").append_text(tree)

    def _print_pending(self, scored: Record | None = None) -> None:
        """Print the line of the commit that waited for its score."""
        with self._lock:
            pending, self._pending = self._pending, None
        if pending is None:
            return
        name, score = scores_in(scored)[0] if scored else (None, None)
        if self._lines % HEADINGS_EVERY == 0:
            named = None if name == "accuracy" else name
            self._print(headings(self._console.width, named), style="bold")
        self._lines += 1
        self._console.print(self._figures(pending, score))

    def _figures(self, event: StageDone, score: float | None) -> Text:
        from rich.text import Text

        texts = figures(self._progress.elapsed(event.time), event.stage, event.record, score)
        if event.resumed:
            texts["time"] = ""
        if "error" in texts and not self._ascii:
            texts["error"] = texts["error"].replace("+-", "±")
        return Text(
            printable(line(texts, self._console.width)),
            style=GREY if event.resumed else "",
            no_wrap=True,
            overflow="crop",
        )

    def _sentence(self, event: Event, about: str, text: str, style: str = "") -> None:
        """Print a sentence beside the time, wrapped with a hanging indent."""
        from rich.table import Table
        from rich.text import Text

        timed = has_time(self._console.width)
        grid = Table.grid(padding=(0, 2 if timed else 1))
        texts: list[str | Text] = []
        if timed:
            grid.add_column(width=7, justify="right")
            texts.append(clock(self._progress.elapsed(event.time)))
        if about:
            grid.add_column(width=11)
            # As a text: a cell that is a string would be read as Rich's markup.
            texts.append(Text(printable(about)))
        grid.add_column()
        grid.add_row(*texts, Text(printable(text), style=style))
        self._console.print(grid)

    def _print(self, *texts: str, style: str = "") -> None:
        """Print one line."""
        from rich.text import Text

        between = " | " if self._ascii else " · "
        self._console.print(Text(printable(between.join(texts)), style=style))


def ending_in_score(stage: str) -> tuple[str, ...]:
    """Return the stages between a point and its accuracy."""
    return StageId.about(MODEL, stage), *scores_of(stage)


def kernel_text(kernel: dict[str, Any]) -> str:
    """Return a kernel's name and the parameters that it has."""
    used = parameters_of(kernel["name"])
    words = (f"{key} {kernel[key]:g}" for key in ("degree", "gamma", "coef0") if key in used)
    return " ".join([kernel["name"], *words])
