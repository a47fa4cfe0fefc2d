"""How a run ends whose steps cannot be done: a sentence that says where, why and what to do."""

from __future__ import annotations

import errno
from typing import Any

from dcsvm_dask.errors import RunError

MORE_MEMORY = "give workers more memory, or start fewer of them by --workers"
FULL = (errno.ENOSPC, errno.EDQUOT)


def step_failed(run_url: str, stage: str, node: str, error: Exception) -> RunError:
    """Return what is told of a step that raised; others are tried before it is told."""
    if is_full(error):
        return disk_full(run_url, f"stage {stage}, {node}")
    to_do = MORE_MEMORY if isinstance(error, MemoryError) else "mend the cause"
    return RunError(
        f"{run_url}: stage {stage}: {node} failed: {type(error).__name__}: {error}; what was "
        f"committed stays: {to_do}, then go on by `dcsvm resume {run_url}`"
    )


def disk_full(run_url: str, where: str) -> RunError:
    """Return what is told of storage without room."""
    return RunError(
        f"{run_url}: no space is left ({where}); what was committed stays: free some, "
        f"then go on by `dcsvm resume {run_url}`"
    )


def is_full(error: BaseException | None) -> bool:
    """Return whether storage without room is behind an error."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


def tasks_failed(error: BaseException, why: str = "") -> RunError:
    """Return how a run ends for a reason that no step told, with what to do where that is known.

    Parameters
    ----------
    why : str, optional
        What is known of the end of the worker that ran it last.
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
