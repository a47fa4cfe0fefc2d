"""The commit of a stage of working sets."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from dcsvm_dask.methods.decomposition.steps import STOP, last_set
from dcsvm_dask.methods.loop import Reached
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.solvers import WorkingSet, bias, duality_gap, objective, size_multiplier
from dcsvm_dask.solvers.optimality import violation
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


def commit_sets(
    run: RunFolder,
    attempt: Attempt,
    *,
    previous: str | None,
    tol: float,
    entering: int,
    reached: Reached,
) -> Record:
    """Commit the point that working sets have reached, and the last set.

    Counts of the record's ``set`` and ``sets`` and ``iterations`` are those since the
    run began; kernel values, sets left to SMO, seconds and the ``trace`` (time since the begin of
    the stage, number and violation of sets) those since the last commit.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    previous : str or None
        The stage of the point where the steps began; None: all variables were zero.
    tol : float
        Tolerance of the run.
    entering : int
        Rows that might enter a working set at first.
    reached : Reached
        All shares, and the last working set.
    """
    problem = read_problem(run)
    chosen: WorkingSet = reached.memory
    before = last_set(run, previous, entering)
    beta = np.concatenate([share.beta for share in reached.shares])
    f = np.concatenate([share.f for share in reached.shares])
    dual, equality = problem.dual_at(beta), problem.settings.fit_intercept
    gradient = dual.gradient(f, beta)
    attempt.write("beta", beta[None, :])
    attempt.write("f", f)
    for name in WorkingSet.ARRAYS:
        attempt.write(f"set_{name}", getattr(chosen, name))
    solving = chosen.seconds - before.seconds
    found: Record = (
        {}
        if problem.size is None
        else {"epsilon": size_multiplier(gradient, beta, dual), "spare": dual.spare}
    )
    return {
        "objective": objective(beta, gradient, dual),
        "gap": duality_gap(gradient, beta, dual, equality=equality),
        "violation": violation(gradient, beta, dual, equality=equality),
        "bias": bias(gradient, beta, dual) if equality else 0.0,
        **found,
        "support": int(np.count_nonzero(beta)),
        "bounded": int(np.count_nonzero(dual.is_bounded(beta))),
        "rows": problem.n,
        "active": len(chosen.index),
        "blocks": 0 if chosen.is_done else 1,
        "is_done": chosen.is_done,
        "set": replace(chosen, is_done=False).numbers(),
        "sets": chosen.steps,
        "iterations": chosen.iterations,
        "fallbacks": chosen.fallbacks - before.fallbacks,
        "kernel_values": chosen.kernel_values
        - before.kernel_values
        + (chosen.moved - before.moved) * problem.n,
        "set_seconds": solving,
        "share_seconds": reached.seconds,
        "trace": {
            "seconds": [at - chosen.began for at, _, _ in chosen.trace],
            "sets": [number for _, number, _ in chosen.trace],
            "violation": [worst for _, _, worst in chosen.trace],
            "start": chosen.first_violation,
            "tol": STOP * tol,
        },
        "before": {
            "seconds": max(0.0, time.time() - chosen.began) if chosen.began else 0.0,
            "cpu_seconds": solving + sum(reached.seconds),
        },
        "from_scratch": False,
        "tol": tol,
    }
