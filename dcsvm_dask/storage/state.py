"""The state of a run as each process left it; the last one counts."""

from __future__ import annotations

import time
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder

STATE = "state"
_KINDS: dict[str, Any] = {
    "state": str,
    "message": str,
    "converged": bool,
    "stage": str,
    "time": float | int,
    "start_seconds": float | int,
    "run_seconds": float | int,
}


def write_state(
    run: RunFolder,
    state: str,
    message: str = "",
    *,
    converged: bool = False,
    stage: str = "",
    start_seconds: float | None = None,
    run_seconds: float | None = None,
) -> None:
    """Write the state in which the owning process leaves a run.

    Parameters
    ----------
    run : RunFolder
    state : {"running", "interrupted", "complete", "failed"}
    message : str
        Why it was interrupted or failed.
    converged : bool
        Whether the exact model was reached.
    stage : str
        The stage with the run's final model.
    start_seconds, run_seconds : float, optional
        Time of starting the workers and of the run.

    Raises
    ------
    OwnershipLostError
        If another process owns the run.
    """
    value: Record = {
        "state": state,
        "message": message,
        "converged": converged,
        "stage": stage,
        "time": time.time(),
    }
    seconds = {"start_seconds": start_seconds, "run_seconds": run_seconds}
    value |= {key: taken for key, taken in seconds.items() if taken is not None}
    run.write(f"{STATE}/{run.writer}.json", value)


def read_state(run: RunFolder) -> Record:
    """Return the state that the last owner of a run left; empty if there is none.

    Raises
    ------
    InputError
        If it is damaged.
    """
    folder = run.place / STATE
    names = [name for name in folder.list() if name.endswith(".json")]
    if not names:
        return {}
    place = folder / names[-1]
    try:
        left = place.read_json(sealed=True)
    except InputError as error:
        raise InputError(f"{error}; delete it, the run continues without it") from error
    for key, value in left.items():
        kind = _KINDS.get(key)
        fits = 0 <= value < 1e18 if isinstance(value, int | float) else True
        if kind and not (isinstance(value, kind) and fits):
            raise InputError(
                f"{place}: damaged: {key} is {value!r}; delete it, the run continues without it"
            )
    return left
