"""The summary of a run: the result, where it lies, and possible next commands."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from dcsvm_dask.diagnostics.summary import figures, is_exact, state_of
from dcsvm_dask.errors import DcsvmError
from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.numbers import clock, megabytes
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import SCORE, StageId
from dcsvm_dask.tasks.scores import scores_in

REPORT = "report.html"


def closing(run: RunFolder, status: dict[str, Any], *, verbose: bool = False) -> str:
    """Return the state, scores and model of a run and the next commands, in a few lines.

    Parameters
    ----------
    run : RunFolder
    status : dict
        The result of `dcsvm_dask.diagnostics.status.status`.
    verbose : bool, default False
        Whether the figures of the solution and of the work follow; the report has them, too.

    Returns
    -------
    str
    """
    lines = [("run", shown(run.place.url)), ("state", _state(status))]
    if status["model"] is not None:
        lines += _model(status)
    peak, plan = max(status["peak_bytes"].values(), default=0), status["plan"]
    if peak:
        planned = f", {megabytes(plan['worker_bytes']['planned'])} planned" if plan else ""
        lines.append(("memory", f"{megabytes(peak)} a worker at most{planned}"))
    if (run.place / REPORT).exists():
        lines.append(("report", shown((run.place / REPORT).url)))
    lines += [("warning", text) for text in status.get("warnings", ())]
    commands = next_commands(run, status)
    lines += [("next" if not i else "", command) for i, command in enumerate(commands)]
    text = [f"{name:<10} {text}" for name, text in lines]
    return "\n".join([*text, *(["", *figures(status)] if verbose else [])])


def next_commands(run: RunFolder, status: dict[str, Any]) -> list[str]:
    """Return commands that are useful next."""
    place = shlex.quote(shown(run.place.url))
    # A run that is going on refuses a second process.
    going = status["state"] in ("complete", "running")
    found = [] if going else [f"dcsvm resume {place}"]
    most = run.header["goals"]["max_rounds"]
    if status["state"] == "complete" and not status["converged"] and _last_round(status) >= most:
        found.append(f"dcsvm resume {place} --max-rounds {2 * most}")
    if status["state"] == "complete" and not (is_exact(status) or status["approximates"]):
        found.append(f"dcsvm resume {place} --stop-at 0")
    if status["model"] is not None:
        rows = shlex.quote(test_rows(run))
        found.append(f"dcsvm evaluate {place} {rows}")
        found.append(f"dcsvm predict {place} {rows} --out predictions.csv")
    return found


def _last_round(status: dict[str, Any]) -> int:
    """Return the number of the last round of those that go on until the tolerance; 0 without."""
    stages = map(StageId, status["stages"])
    kinds = ((stage, kind_of(stage)) for stage in stages)
    rounds = [stage.number for stage, kind in kinds if kind.is_round and kind.until_tolerance]
    return max((number for number in rounds if number is not None), default=0)


def test_rows(run: RunFolder) -> str:
    """Return the place of rows to test a run's model on; "DATA" where it is not known."""
    if run.header.get("holdout"):
        return shown(run.header["holdout"])
    try:
        data = DataSet.open(run.header["data"]["url"])
    except (DcsvmError, OSError):  # it is not there any more
        return "DATA"
    return shown(f"{data.place}/test") if "test" in data.parts else "DATA"


def shown(url: str) -> str:
    """Return a place relative to the working directory where it is below it."""
    below = f"{Path.cwd()}{os.sep}"
    return url.removeprefix(below)


def _state(status: dict[str, Any]) -> str:
    taken = status["run_seconds"] if status["state"] == "complete" else None
    return state_of(status) + ("" if taken is None else f", in {clock(taken)}")


def _model(status: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the best model's scores, and what it is."""
    name, exact = status["model"], is_exact(status)
    record, score = status["stages"][name], status["stages"].get(StageId.about(SCORE, name))
    kind = "exact" if exact else f"early prediction by {name}"
    if status["approximates"]:
        kind = str(status["method"])
    size = f"{record['support']:,} support vectors"
    if "outputs" in record:
        size = f"weights of {record['outputs']:,} features"
    lines = []
    if score is not None:
        rows = f"{score['rows']:,} held-out rows"
        if score.get("largest_class") is not None:
            rows += f", of which the largest class has {score['largest_class']:.4f}"
        found = scores_in(score)
        lines.append((found[0][0], f"{found[0][1]:.4f} on {rows}"))
        lines += [(name, f"{value:.4g}") for name, value in found[1:]]
    lines.append(("model", f"{kind}, {size}"))
    if record.get("crossing") is not None:
        share = f"quantiles cross in {record['crossing']:.2%} of the rows, by their weights"
        lines.append(("crossing", share))
    return lines
