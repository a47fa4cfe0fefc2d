"""The tests of a run's models on all held-out rows (Table 1 of Hsieh et al., 2014)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from dcsvm_dask.diagnostics.report.tables.demand import kept
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.methods.choice import Choice, choose_model, committed_models
from dcsvm_dask.methods.registry import approximation
from dcsvm_dask.models.model import LEVEL_MODES
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import COMMITTEE, StageId
from dcsvm_dask.tasks.scores import known_keys

BALANCED = "balanced_accuracy"


def columns_of(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the columns of tests: their scores are those of the runs' tasks."""
    scores = known_keys(rows) or ("accuracy",)
    balanced = not rows or any(row.get(BALANCED) is not None for row in rows)
    return ("level", "mode", *scores, *[BALANCED] * balanced, "rows", "n_support", "ms_per_row")


def trials(
    run: RunFolder,
    modes: Sequence[str] = LEVEL_MODES,
    measure: Callable[[Choice], dict[str, Any]] | None = None,
) -> Table:
    """Return a row for each committed level and mode, the last for the model of the whole problem.

    Parameters
    ----------
    run : RunFolder
    modes : sequence of {"early", "naive", "committee"}
        Modes of levels; committees are those of calibrated levels.
    measure : callable, optional
        Returns the result of `dcsvm_dask.Run.evaluate` for a choice, which is stored in the run's
        folder; without `measure` only stored results are returned.

    Returns
    -------
    Table
    """
    rows = []
    for choice, made_from in _choices(run, modes):
        made = None if measure is None else partial(measure, choice)
        found = kept(run, f"test-{choice.mode}-{choice.stage}", made_from, made)
        if found is not None:
            about = {"level": choice.level, "mode": choice.mode, "rows": found["n_rows"]}
            rows.append({**found, **about})
    return table(columns_of(rows), rows)


def _choices(run: RunFolder, modes: Sequence[str]) -> Iterator[tuple[Choice, list[Any]]]:
    """Yield the models and modes to test, and the values that their results depend on.

    The bottom level comes first.
    """
    models, holdout = committed_models(run), run.header.get("holdout")
    own = approximation(run.header["settings"])
    if holdout is None:
        return
    for level in sorted(models, reverse=True):
        for mode in modes if level else (None,):
            made_from = [holdout]
            if mode == "committee":
                calibrated = run.find(StageId.about(COMMITTEE, models[level]), "commit")
                if calibrated is None:
                    continue
                made_from.append(calibrated.attempt)
            choice = choose_model(run, mode, level, approximation=own)
            yield choice, [choice.attempt, *made_from]
