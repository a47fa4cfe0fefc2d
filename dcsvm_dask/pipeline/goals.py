"""When a training is to stop: goals that a run can reach, and durations."""

from __future__ import annotations

import re

from dcsvm_dask.checks import check, is_finite
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.goals import Goals


def check_goals(goals: Goals, levels: int | None = None, rounds: int = 0) -> None:
    """Refuse goals that no run can reach.

    Parameters
    ----------
    levels : int, optional
        Number of levels of the run, where it is known.
    rounds : int
        Rounds that the run has done already; their points are not kept.

    Raises
    ------
    InputError
        If the tolerance or the limit of rounds is not positive, or there is no such level.
    """
    check(is_finite(goals.tol) and goals.tol > 0, "tol", goals.tol, "a positive number")
    check(goals.stop_at >= 0, "stop-at", goals.stop_at, "a level, or 0 for the exact model")
    check(goals.max_rounds >= 1, "max-rounds", goals.max_rounds, "at least 1")
    if goals.max_rounds < rounds:
        raise InputError(
            f"max-rounds must be at least {rounds}, which this run has done, got {goals.max_rounds}"
        )
    if levels is not None and goals.stop_at > levels:
        raise InputError(
            f"stop-at: there is no level {goals.stop_at}: this run has {levels} level(s); "
            "give a lower level, 0 for the exact model, or train with more levels (--levels, in "
            "Python levels= of dcsvm_dask.train)"
        )


def parse_duration(text: str, name: str = "time-budget") -> float:
    """Return the seconds of `90`, `90s`, `10m`, `1.5h` or `1h30m`; `name`: whose value it is.

    Raises
    ------
    InputError
        If the text is no duration above zero.
    """
    match = re.fullmatch(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s?)?", text.strip())
    try:
        parts = [float(part) if part else 0.0 for part in match.groups()] if match else [0.0]
    except ValueError:
        parts = [0.0]
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    if seconds <= 0:
        raise InputError(f"{name}: {text!r} is no duration; write 90s, 10m or 1h30m")
    return seconds
