"""The errors that end a run: where, why and what to do."""

from __future__ import annotations

import errno
import shlex
from typing import Any

from dcsvm_dask.errors import RunError

MORE_MEMORY = "give workers more memory, or start fewer of them by --workers"
FULL = (errno.ENOSPC, errno.EDQUOT)


def step_failed(run_url: str, stage: str, node: str, error: Exception) -> RunError:
    """Return the error of a step that failed in all tries.

    Parameters
    ----------
    run_url, stage, node : str
    error : Exception
        The exception of the last try.

    Returns
    -------
    RunError
    """
    if is_full(error):
        return disk_full(run_url, f"stage {stage}, {node}")
    to_do = MORE_MEMORY if isinstance(error, MemoryError) else "remove the cause"
    return RunError(
        f"{run_url}: stage {stage}: {node} failed: {type(error).__name__}: {error}; what was "
        f"committed stays: {to_do}, then continue with `dcsvm resume {shlex.quote(run_url)}`"
    )


def disk_full(run_url: str, where: str) -> RunError:
    """Return the error of a full disk."""
    return RunError(
        f"{run_url}: no space is left ({where}); what was committed stays: free some, "
        f"then continue with `dcsvm resume {shlex.quote(run_url)}`"
    )


def is_full(error: BaseException | None) -> bool:
    """Return whether an error was caused by a full disk or an exhausted quota."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


def is_of_step(error: BaseException) -> bool:
    """Return whether an exception was raised by what a task computes, not by Dask or the system."""
    return not type(error).__module__.startswith(("distributed", "asyncio", "concurrent"))


def tasks_failed(error: BaseException, why: str = "") -> RunError:
    """Return the error of tasks that failed without an error of a step.

    Parameters
    ----------
    error : BaseException
        The exception that Dask raised.
    why : str, optional
        The known reason for the end of the last worker.

    Returns
    -------
    RunError
    """
    if type(error).__name__ == "KilledWorker":
        task = named(getattr(error, "task", "a task"))
        return RunError(
            f"the workers that ran {task} died, one after the other; "
            f"{f'of the last: {why}' if why else 'most often memory runs out'}: {MORE_MEMORY}"
        )
    return RunError(f"a task failed: {type(error).__name__}: {error}")


def named(key: Any) -> str:
    """Return the name of a task as text."""
    return "-".join(map(str, key)) if isinstance(key, tuple) else str(key)
