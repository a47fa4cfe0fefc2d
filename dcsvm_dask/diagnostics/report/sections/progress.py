"""How the run came near to its answer."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.draw.progress import over_time
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, grid
from dcsvm_dask.diagnostics.report.records import Records
from dcsvm_dask.diagnostics.report.table import Table, n_rows, rows_of, table

VIOLATION = (
    "The largest violation of the optimality conditions: at levels inside blocks, in rounds over "
    "all rows. The run ends below the dashed line, the tolerance."
)
MOST_LISTED = 40
"""Rows of the table on the page; the CSV has all."""


def progress_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of the history."""
    history = tables["history"]
    if not n_rows(history):
        lead = "Nothing is committed yet that measured the whole problem."
        return Section("progress", "Progress", lead)
    pauses = records.clock.breaks
    lead = "The points are rounds over the whole problem; their figures are exact."
    has_levels = any(level is not None for level in history["level"])
    if has_levels:
        lead = (
            "Orange are the levels, blue the rounds over the whole problem. Objective and gap of "
            "levels are estimated on a sample of the rows, with standard errors as bars; those of "
            "rounds are exact."
        )
    if pauses:
        lead += (
            f" Dashed lines: the run was taken up again after a pause; pauses, {_pauses(records)} "
            "in all, are cut out."
        )
    tol = records.run.header["goals"].get("tol")
    parts: list[Part] = []
    for made, title, caption in (
        (
            over_time(history, "objective", "objective", pauses=pauses),
            "Objective",
            "The dual objective of the whole problem, minimised. It should settle.",
        ),
        (
            over_time(history, "gap", "duality gap", pauses=pauses, log=True),
            "Duality gap",
            "How far the objective is from the best one at most. It should fall.",
        ),
        (
            over_time(history, "violation", "violation", pauses=pauses, log=True, goal=tol),
            "Violation",
            VIOLATION,
        ),
        (
            over_time(history, "n_support", "support vectors", pauses=pauses, zero=True),
            "Support vectors",
            ("Levels often have more than the answer needs. " if has_levels else "")
            + "The number should near the final one.",
        ),
    ):
        if made is not None:
            parts.append(Picture(made, title, caption, "history"))
    shown = [
        ("stage", "stage", text.word),
        ("time", "after", text.seconds),
        ("seconds", "took", text.seconds),
        ("objective", "objective", text.exact),
        ("objective_error", "±", lambda value: text.number(value, 2)),
        ("gap", "gap", text.number),
        ("gap_error", "±", lambda value: text.number(value, 2)),
        ("violation", "violation", lambda value: text.number(value, 3)),
        ("n_support", "support vectors", text.whole),
        ("accuracy", "accuracy", text.percent),
    ]
    if not has_levels:
        shown = [column for column in shown if not column[0].endswith("_error")]
    listed, caption = history, ""
    if n_rows(history) > MOST_LISTED:
        rows = list(rows_of(history))
        half = MOST_LISTED // 2
        listed = table(tuple(history), [*rows[:half], *rows[-half:]])
        caption = f"The first and the last {half} of {len(rows)}; the CSV has all."
    parts.append(
        grid(listed, shown, title="History", caption=caption, table="history", words=("stage",))
    )
    return Section("progress", "Progress", lead, parts)


def _pauses(records: Records) -> str:
    return text.seconds(records.clock.pauses)
