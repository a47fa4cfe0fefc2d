"""Runs that are over before workers would have started."""

from __future__ import annotations

from dataclasses import replace

from dcsvm_dask.methods import resources
from dcsvm_dask.methods.plan import Plan
from dcsvm_dask.runtime.execution import Execution

SHORT = 3.0
"""Planned seconds of a run on one worker up to which starting workers costs more than they save."""

BESIDE_HERE, BESIDE_WORKERS = 1.5, 3.5
"""Seconds of `dcsvm train` beside those of its run: in this process, with workers that it starts;
as ``python -m benchmarks.commands`` measures them on two cores."""


def here_if_short(execution: Execution, plan: Plan) -> Execution:
    """Return an execution in this process for a short run, where nobody says where to run.

    The model is the same, bit for bit.

    Parameters
    ----------
    execution : Execution
    plan : Plan
        Of the run.

    Returns
    -------
    Execution
        With ``workers=0``, or the given one: where workers are asked for, the plan is long, or its
        tasks side by side would not fit this machine's memory.
    """
    asked = execution.workers is not None or execution.memory_limit is not None
    if asked or not execution.is_local or execution.file is not None or plan.seconds(1) > SHORT:
        return execution
    here = replace(execution, workers=0)
    return here if plan.most_bytes(here.side_by_side()) <= here.memory() else execution


def threads_here(execution: Execution, chosen: Execution) -> int:
    """Return how many threads a task that runs alone may use.

    Parameters
    ----------
    execution : Execution
        Where the caller asked to run.
    chosen : Execution
        Where it runs; see `here_if_short`.

    Returns
    -------
    int
        As many as there would have been workers, where the run is here because it is short; else
        those of this process.
    """
    before = resources.threads()
    return before if chosen is execution else max(before, execution.n_workers())


def seconds_beside(execution: Execution) -> float | None:
    """Return what a command takes beside its training: to start, and to write the report.

    Parameters
    ----------
    execution : Execution

    Returns
    -------
    float or None
        Seconds; None where workers are started elsewhere, which nobody here can tell.
    """
    if not execution.is_local:
        return None
    return BESIDE_WORKERS if execution.n_workers() else BESIDE_HERE
