"""Which of the models that a run has committed predicts."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.errors import InputError
from dcsvm_dask.models.model import MODES
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import COMMITTEE, LEVEL, MODEL, StageId
from dcsvm_dask.storage.state import read_state

PRECISIONS = ("float32", "float64")
SEARCH = "search"
"""The method that has no model of its own, but a run of its best candidate."""
BEST = "best"
"""That run's folder, in the search's."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A committed model and how it decides."""

    run_url: str
    stage: str
    """The stage whose commit holds the model."""
    attempt: str
    mode: str
    """exact, early, naive or committee; of an approximation its method's name."""
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
    """Return which committed model predicts.

    Parameters
    ----------
    run : RunFolder
    mode : {"exact", "early", "naive", "committee"}, optional
        By default what the run reached: exact, or early where it stopped at a level.
    level : int, optional
        For all modes but exact; by default the one that the run stopped at, else the
        lowest that is committed.
    precision : {"float32", "float64"}
        Of kernel values.
    approximation : str, optional
        The name of the run's method where the model that it ends in is not the exact one: that is
        its mode then.

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
            f"that of its best candidate is {run.place / BEST}"
        )
    if not models:
        raise InputError(
            f"{run.place}: has no model yet: no level is committed; "
            f"go on with it by `dcsvm resume {run.place}`"
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
                f"level: level {level} is predicted from by mode early, naive or committee"
            )
        if 0 not in models:
            raise InputError(
                f"{run.place}: the exact model is not committed yet; {_known(levels)}, or go on "
                f"by `dcsvm resume {run.place} --stop-at 0`"
            )
        return _choice(run, models[0], approximation or mode, 0, precision)
    if not levels:
        raise InputError(f"{run.place}: was trained without levels; predict with mode exact")
    if level is None:
        level = reached or levels[0]
    if level not in levels:
        raise InputError(f"level: level {level} of {run.place} is not committed; {_known(levels)}")
    if mode == "committee" and run.find(StageId.about(COMMITTEE, models[level]), "commit") is None:
        raise InputError(
            f"{run.place}: the machines of level {level} are not calibrated; "
            f"`dcsvm resume {run.place} --committee` does it"
        )
    return _choice(run, models[level], mode, level, precision)


def reached_model(run: RunFolder) -> str | None:
    """Return the stage of the model that a run ended with; of an unfinished one the best so far.

    None if no model is committed.
    """
    models = committed_models(run)
    left = read_state(run).get("stage")
    return left if left in models.values() else models[min(models)] if models else None


def committed_models(run: RunFolder) -> dict[int, str]:
    """Return the stages that hold a model by their level, 0 for the exact one.

    Of several exact models that is the one that the run ended with, else that of most rounds.
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
    return models


def _choice(run: RunFolder, stage: str, mode: str, level: int, precision: str) -> Choice:
    found = run.find(stage, "commit")
    assert found is not None
    return Choice(run.place.url, stage, found.attempt, mode, level, precision)


def _known(levels: list[int]) -> str:
    if not levels:
        return "no level is"
    return f"committed level(s): {', '.join(map(str, levels))}"
