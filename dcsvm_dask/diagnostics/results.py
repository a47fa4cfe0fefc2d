"""Several runs below each other: what each took, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dcsvm_dask.diagnostics.numbers import duration
from dcsvm_dask.diagnostics.status import status
from dcsvm_dask.storage.run import RunFolder

NONE = "-"
COLUMNS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("run", str),
    ("method", str),
    ("seconds", duration),
    ("accuracy", "{:.4f}".format),
    ("support", "{:,}".format),
    ("objective", "{:,.4f}".format),
    ("state", str),
)


def results(runs: Sequence[RunFolder]) -> str:
    """Return a line for each run, the figures of one kind below each other.

    Seconds are those of all stages up to the run's model, without the start of workers and the
    scoring; accuracy is that of its model on held-out rows; the objective that of an exact one.
    """
    lines = [[name for name, _ in COLUMNS]]
    for run in runs:
        found = _figures(run)
        lines.append([NONE if found[name] is None else form(found[name]) for name, form in COLUMNS])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = {"run", "method", "state"}
    return "\n".join(
        "  ".join(
            f"{text:<{width}}" if name in left else f"{text:>{width}}"
            for text, width, (name, _) in zip(line, widths, COLUMNS, strict=True)
        ).rstrip()
        for line in lines
    )


def _figures(run: RunFolder) -> dict[str, Any]:
    found = status(run)
    model = found["stages"].get(found["model"], {})
    score = found["stages"].get(f"score-{found['model']}", {})
    spent = (value for name, value in found["stage_seconds"].items() if "score" not in name)
    return {
        "run": run.place.name,
        "method": found["method"],
        "seconds": sum(spent),
        "accuracy": score.get("accuracy"),
        "support": model.get("support"),
        "objective": model.get("objective"),
        "state": found["state"],
    }
