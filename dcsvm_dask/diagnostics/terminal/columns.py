"""What commits say, as lines whose columns stand below each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dcsvm_dask.diagnostics.numbers import aligned, brief, clock, decimals_of
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import CHAINS, LEVEL, LOOK, REFINE, StageId

LEFT = "<"
RIGHT = ">"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, how wide it is at least, and on which side its text stands."""

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
"""Of an objective: what its last bits may be."""
NEEDLESS = ("error", "time", "violation", "gap", "accuracy")
"""What is left out of narrow lines, the first one first."""


def is_point(stage: str) -> bool:
    """Whether a stage's commit measures the whole problem."""
    return StageId(stage).kind in (LEVEL, LOOK, "grow", "fit", *CHAINS)


def figures(seconds: float, stage: str, record: Record, accuracy: float | None) -> dict[str, str]:
    """Return what a commit says of the whole problem, as the texts of `COLUMNS`.

    A level's violation is that of its blocks, gap and violation of refinement those of the support
    vectors' problem, so they are not among them.
    """
    at_level = "objective_estimate" in record
    objective = record["objective_estimate" if at_level else "objective"]
    # Where blocks never meet, nothing of it is estimated.
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
    if StageId(stage).kind == REFINE:
        gap = None
    if gap is not None:
        found["gap"] = ("" if exact else "~") + brief(gap)
    if not at_level and "violation" in record and StageId(stage).kind != REFINE:
        found["violation"] = f"{record['violation']:.1e}"
    if accuracy is not None:
        found["accuracy"] = f"{accuracy:.4f}"
    return found


def headings(width: int) -> str:
    """Return the line above all others."""
    long, columns = layout(width)
    return _line(columns, {c.key: c.heading if long else c.short for c in columns}, width)


def has_time(width: int) -> bool:
    """Return whether lines of some width begin with the time."""
    return any(column.key == "time" for column in layout(width)[1])


def line(texts: dict[str, str], width: int) -> str:
    """Return figures in a line of at most some width."""
    _, columns = layout(width)
    return _line(columns, texts, width)


def layout(width: int) -> tuple[bool, list[Column]]:
    """Return which columns fit into a width, and whether their whole headings do."""
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
