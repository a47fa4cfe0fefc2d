"""The choice of the committed model that predicts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from dcsvm_dask.errors import InputError
from dcsvm_dask.models.model import MODES
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import COMMITTEE, EPOCHS, LEVEL, MODEL, StageId
from dcsvm_dask.storage.state import read_state
from dcsvm_dask.tasks import WITH_COMMITTEE

PRECISIONS = ("float32", "float64")
SEARCH = "search"
"""The method that has no model of its own, but a run of its best candidate."""
BEST = "best"
"""That run's folder, in the search's."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A committed model and the mode of prediction."""

    run_url: str
    stage: str
    """The stage whose commit holds the model."""
    attempt: str
    mode: str
    """exact, early, naive or committee; the method's name for an approximation."""
    level: int
    """0 for the model of the whole problem."""
    precision: str = "float32"


def choose_model(
    run: RunFolder,
    mode: str | None = None,
    level: int | None = None,
    precision: str = "float32",
    *,
    approximation: str | None = None,
) -> Choice:
    """Return the committed model that predicts.

    Parameters
    ----------
    run : RunFolder
    mode : {"exact", "early", "naive", "committee"}, optional
        By default exact, or early if the run stopped at a level.
    level : int, optional
        For all modes but exact; by default the level that the run stopped at, else the lowest
        committed level.
    precision : {"float32", "float64"}
        Precision of kernel values.
    approximation : str, optional
        Name of the run's method if its model is not the exact one; it is the mode then.

    Raises
    ------
    InputError
        If there is no such model.
    """
    if mode is not None and mode not in MODES:
        raise InputError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    if precision not in PRECISIONS:
        raise InputError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    models = committed_models(run)
    levels = sorted(number for number in models if number)
    if run.header["settings"].get("method") == SEARCH:
        raise InputError(
            f"{run.place}: is a search, which has no model of its own; "
            f"the model of its best candidate is {run.place / BEST}"
        )
    if not models:
        raise InputError(
            f"{run.place}: has no model yet: no level is committed; "
            f"continue it with `dcsvm resume {shlex.quote(run.place.url)}`"
        )
    best = reached_model(run)
    reached = next(number for number, stage in models.items() if stage == best)
    asked = mode
    if mode is None:
        exact = level == 0 or (level is None and reached == 0)
        mode = "exact" if exact else "early"
    if approximation and (asked == "exact" or (mode != "exact" and not levels)):
        raise InputError(
            f"mode: {run.place} has no {mode} prediction: its model is that of {approximation}; "
            "leave mode and level out"
        )
    if mode == "exact":
        if level:
            raise InputError(
                f"level: mode exact has no level, got {level}; use mode early, naive or committee"
            )
        if 0 not in models:
            raise InputError(
                f"{run.place}: the exact model is not committed yet; {_known(levels)}, or continue "
                f"with `dcsvm resume {shlex.quote(run.place.url)} --stop-at 0`"
            )
        return _choice(run, models[0], approximation or mode, 0, precision)
    if not levels:
        raise InputError(f"{run.place}: was trained without levels; predict with mode exact")
    if level is None:
        level = reached or levels[0]
    if level not in levels:
        raise InputError(f"level: level {level} of {run.place} is not committed; {_known(levels)}")
    if mode == "committee" and run.find(StageId.about(COMMITTEE, models[level]), "commit") is None:
        if (task := run.header["settings"].get("task", "classification")) not in WITH_COMMITTEE:
            raise InputError(
                f"mode: {run.place} learns {task}, whose SVMs form no committee; predict with mode "
                "exact or early"
            )
        raise InputError(
            f"{run.place}: the SVMs of level {level} are not calibrated; "
            f"calibrate them with `dcsvm resume {shlex.quote(run.place.url)} --committee`"
        )
    return _choice(run, models[level], mode, level, precision)


def reached_model(run: RunFolder) -> str | None:
    """Return the stage of the model that a run ended with, or of the best one so far.

    Returns
    -------
    str or None
        None if no model is committed.
    """
    models = committed_models(run)
    left = read_state(run).get("stage")
    return left if left in models.values() else models[min(models)] if models else None


def committed_models(run: RunFolder) -> dict[int, str]:
    """Return the stages with a model by level, 0 for the exact model.

    Of several exact models it is the one that the run ended with, else the one of most rounds. Of a
    run that descends by epochs and has not ended it is that of the last commit.
    """
    models: dict[int, str] = {}
    left = read_state(run).get("stage")
    for stage in sorted(run.stages()):  # rounds have numbers of equal length
        found = StageId(stage)
        if found.kind not in (MODEL, LEVEL) or run.find(stage, "commit") is None:
            continue
        level = found.height
        if models.get(level) != left or left is None:
            models[level] = stage
    if not models and (last := _last_epochs(run)) is not None:
        models[0] = last
    return models


def _last_epochs(run: RunFolder) -> str | None:
    """Return the last stage of epochs whose commit holds a model; the earlier ones are deleted."""
    stages = [one for one in map(StageId, run.stages()) if one.kind == EPOCHS]
    for stage in sorted(stages, key=lambda one: one.number or 0, reverse=True):
        node = run.find(stage, "commit")
        if node is not None:
            return stage if MODEL in node.record and not node.released else None
    return None


def _choice(run: RunFolder, stage: str, mode: str, level: int, precision: str) -> Choice:
    found = run.find(stage, "commit")
    assert found is not None
    return Choice(run.place.url, stage, found.attempt, mode, level, precision)


def _known(levels: list[int]) -> str:
    if not levels:
        return "no level is"
    return f"committed level(s): {', '.join(map(str, levels))}"
