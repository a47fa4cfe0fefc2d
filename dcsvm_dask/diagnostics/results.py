"""Several runs below each other: what each took, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.diagnostics.report.tables.trials import trials
from dcsvm_dask.diagnostics.status import status
from dcsvm_dask.diagnostics.summary import state_of
from dcsvm_dask.numbers import duration
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import SCORE, StageId
from dcsvm_dask.tasks.scores import SCORES, known_keys

Columns = tuple[tuple[str, Callable[[Any], str]], ...]

NONE = "-"
COLUMNS: Columns = (
    ("run", str),
    ("method", str),
    ("seconds", duration),
    *((key, "{:.4f}".format) for key in SCORES),
    ("support", "{:,}".format),
    ("objective", "{:,.4f}".format),
    ("state", str),
)
TEST_COLUMNS: Columns = (
    ("run", str),
    ("level", str),
    ("mode", str),
    *((key, "{:.4f}".format) for key in SCORES),
    ("rows", "{:,}".format),
    ("ms_per_row", "{:.3g}".format),
)
WORDS = {"run", "method", "state", "mode"}


def results(runs: Sequence[RunFolder]) -> str:
    """Return a table of runs, one in a line.

    Seconds are those of all stages up to the run's model, without the start of workers and scoring;
    accuracy, or other scores of the runs' tasks, are those of the model on held-out rows; the
    objective is that of an exact model.
    """
    rows = [_figures(run) for run in runs]
    return _lines(_given(COLUMNS, rows), rows)


def tests(runs: Sequence[RunFolder]) -> str:
    """Return a table of tested prediction modes, a line for each run, level and mode.

    Empty if none was tested.

    ``ms_per_row`` is the time of one core for a row, in milliseconds.
    """
    rows = [{"run": run.place.name, **row} for run in runs for row in rows_of(trials(run))]
    return _lines(_given(TEST_COLUMNS, rows), rows) if rows else ""


def _given(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the columns without those of scores that no run has."""
    given = known_keys(rows) or ("accuracy",)
    return tuple(one for one in columns if one[0] not in SCORES or one[0] in given)


def _lines(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        [name for name, _ in columns],
        *(
            [NONE if row.get(name) is None else form(row[name]) for name, form in columns]
            for row in rows
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            f"{text:<{width}}" if name in WORDS else f"{text:>{width}}"
            for text, width, (name, _) in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    )


def _figures(run: RunFolder) -> dict[str, Any]:
    found = status(run)
    model = found["stages"].get(found["model"], {})
    score = found["stages"].get(StageId.about(SCORE, found["model"]), {})
    spent = (value for name, value in found["stage_seconds"].items() if StageId(name).kind != SCORE)
    return {
        "run": run.place.name,
        "method": found["method"],
        "seconds": sum(spent),
        **{key: score.get(key) for key in SCORES},
        "support": model.get("support"),
        "objective": model.get("objective"),
        "state": state_of(found),
    }
