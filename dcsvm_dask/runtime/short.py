"""Runs that are over before workers would have started."""

from __future__ import annotations

from dataclasses import replace

from dcsvm_dask.methods.plan import Plan
from dcsvm_dask.runtime.execution import Execution

SHORT = 3.0
"""Planned seconds of a run on one worker up to which starting workers costs more than they save."""


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
