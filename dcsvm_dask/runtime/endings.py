"""How a run has ended: its state and the sentence that says why."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.errors import DcsvmError, Terminated
from dcsvm_dask.masking import masked
from dcsvm_dask.methods.choice import SEARCH, reached_model
from dcsvm_dask.methods.graph import Outcome
from dcsvm_dask.runtime.announcer import INTERRUPTED, TERMINATED
from dcsvm_dask.runtime.callbacks import StopRun
from dcsvm_dask.runtime.failures import disk_full, is_full
from dcsvm_dask.runtime.header import method_of
from dcsvm_dask.storage.run import RunFolder


def ending_of_outcome(run: RunFolder, outcome: Outcome | None, why: str) -> dict[str, Any]:
    """Return the state of a run that ended without an error.

    Parameters
    ----------
    run : RunFolder
    outcome : Outcome or None
        None if the run was stopped.
    why : str
        The reason for stopping.

    Returns
    -------
    dict
        ``state``, ``message`` and ``converged``.
    """
    if outcome is not None:
        how = {"message": outcome.message, "converged": outcome.converged}
        return {"state": "complete", **how}
    reached = reached_model(run)
    if method_of(run) == SEARCH:
        kept = "scores so far are kept"
    else:
        kept = f"{reached} is the model" if reached else "no level is committed yet"
    return {"state": "interrupted", "message": f"{why}; {kept}", "converged": False}


def ending_of_error(run: RunFolder, error: BaseException) -> dict[str, Any]:
    """Return ``state``, ``message`` and ``converged`` of a run that ended by an exception."""
    if isinstance(error, StopRun):
        return ending_of_outcome(run, None, " ".join(f"stopped: {error}".split()))
    if isinstance(error, KeyboardInterrupt):
        how = TERMINATED if isinstance(error, Terminated) else INTERRUPTED
        return {"state": "interrupted", "message": how, "converged": False}
    text = str(error)
    if is_full(error) and not isinstance(error, DcsvmError):
        text = str(disk_full(run.place.url, str(error)))
    return {"state": "failed", "message": masked(text) or type(error).__name__, "converged": False}
