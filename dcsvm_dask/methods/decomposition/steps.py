"""The loop of a stage of working sets: what its shares are, and where they begin."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from dcsvm_dask.methods.loop import Program
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.methods.solve_rows import FAR_PAIRS
from dcsvm_dask.solvers import ParallelRule, Share, ShareRows, WorkingSet
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder

BESIDE_ROW = 64
"""Bytes of a variable beside its row: where it stands, its bounds."""
STOP = 0.3
"""Share of the tolerance at which the loop is done: f from scratch is another by its rounding."""


def make_rule(
    run: RunFolder, *, previous: str | None, tol: float, size: int, entering: int
) -> ParallelRule:
    """Return the rule of the steps.

    Parameters
    ----------
    run : RunFolder
    previous : str or None
        The stage of the last point; None: all variables are zero.
    tol : float
        Tolerance of the run.
    size, entering : int
        Rows of a working set, and those that may enter it at first.
    """
    del previous, entering
    problem = read_problem(run)
    settings = problem.settings
    return ParallelRule(
        kernel=settings.kernel,
        n=problem.n,
        equality=settings.fit_intercept,
        tol=STOP * tol,
        size=size,
        inner=settings.inner,
        total_size=problem.size,
        fixed_signs=problem.size is None or problem.dual.has_fixed_signs,
        row_bytes=BESIDE_ROW + problem.X.nbytes_of(0, problem.n) / problem.n,
    )


def load_share(run: RunFolder, part: int, parts: int, *, tol: float, cache: float) -> ShareRows:
    """Return the rows of a share and their problem.

    Parameters
    ----------
    run : RunFolder
    part, parts : int
        The share and the number of shares.
    tol : float
        Tolerance of the run, of which far pairs of rows may take a part.
    cache : float
        Megabytes of kernel columns that are kept, of all shares.
    """
    problem = read_problem(run)
    start, stop = share(problem.n, part, parts)
    return ShareRows(
        problem.settings.kernel,
        problem.for_speed(problem.X.read(start, stop)),
        problem.dual[slice(start, stop)],
        start,
        FAR_PAIRS * tol,
        int(cache * 2**20),
    )


def begin_share(
    run: RunFolder,
    part: int,
    parts: int,
    *,
    previous: str | None,
    tol: float,
    size: int,
    entering: int,
) -> Share:
    """Return where a share stands at the last point.

    Parameters
    ----------
    run, part, parts, previous, tol, size, entering
        As for `make_rule` and `load_share`.
    """
    del tol, size
    problem = read_problem(run)
    start, stop = share(problem.n, part, parts)
    memory = last_set(run, previous, entering)
    spare = (
        None
        if problem.size is None
        else problem.dual.with_size(np.array([memory.size]), problem.size).spare
    )
    if previous is None:
        zero = np.zeros(stop - start)
        return Share(zero, zero, memory.entering, spare)
    point = run.node(previous, "commit")
    beta, f = point.read("beta")[0][start:stop], point.read("f", slice(start, stop))
    return Share(beta, f, memory.entering, spare)


def remember(
    run: RunFolder, *, previous: str | None, tol: float, size: int, entering: int
) -> WorkingSet:
    """Return the working set of the last point, from which steps go on now.

    Parameters
    ----------
    run, previous, tol, size, entering
        As for `make_rule`.
    """
    del tol, size
    return replace(last_set(run, previous, entering), began=time.time())


def last_set(run: RunFolder, previous: str | None, entering: int) -> WorkingSet:
    """Return the working set of the last point.

    Parameters
    ----------
    run, previous, entering
        As for `make_rule`.
    """
    if previous is None:
        return WorkingSet.empty(entering)
    point = run.node(previous, "commit")
    if "set" not in point.record:
        return WorkingSet.empty(entering, _size(point), point.record["objective"])
    arrays: dict[str, Any] = {name: point.read(f"set_{name}") for name in WorkingSet.ARRAYS}
    return WorkingSet(**arrays, **point.record["set"])


def _size(point: Committed) -> float:
    return float(np.abs(point.read("beta")).sum())


PROGRAM = Program(make_rule, load_share, begin_share, remember)
