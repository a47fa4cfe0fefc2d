"""The nodes of a round: parts descend, their steps are joined, all rows are measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.dcd.commits import commit_svms
from dcsvm_dask.methods.dcd.joint import joined_steps
from dcsvm_dask.methods.dcd.points import (
    DESCEND,
    JOIN,
    MEASURE,
    Vector,
    ends,
    moved,
    name_of,
    sums_of,
    variables,
)
from dcsvm_dask.methods.linear.rows import PartRows, arrays_of, dual_of, part_of
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.progress import pass_reporter
from dcsvm_dask.random_streams import DESCENT, generator
from dcsvm_dask.solvers import descend_part, measure_part
from dcsvm_dask.solvers.linear.visits import Order, Visits
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Dual

# Free rows that all parts have in common: share of the rows, no fewer than some, and bytes.
KEPT, LEAST_KEPT, KEPT_BYTES = 0.1, 2048, 64 << 20
# Passes over them.
KEPT_PASSES = 100


def descend(
    run: RunFolder,
    attempt: Attempt,
    *,
    number: int,
    machine: int,
    previous: str | None,
    part: int,
    parts: int,
    chunks: int,
    constant: float,
    tol: float,
    order: Order,
    shrinking: bool,
    most_visits: int | None,
    most_passes: int | None,
) -> Record:
    """Descend over the variables of a part, from where the round before has ended.

    Writes ``alpha``. Where it is the only part, what `measure` writes and ``w``; else the ``step``
    of w, and copies of some free rows, ``kept`` with their numbers in the part, for `join_steps`.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    number : int
        Number of the round.
    machine : int
        Number of the SVM.
    previous : str or None
        The stage of the round before; None: all variables are 0.
    part, parts : int
        The part and the number of parts.
    chunks : int
        Pieces in which its rows are read.
    constant : float
        The constant feature; 0: none.
    tol : float
        Violation of the part's problem at which descent ends.
    order : str
        Order of the rows in a pass; see `Visits`.
    shrinking : bool
        Whether rows that stay at a bound rest.
    most_visits, most_passes : int or None
        Visits of rows, or passes over active rows, after which descent ends in any case, about.

    Returns
    -------
    dict
        Passes, rows, and what `_measured` returns, or of a step its numbers of moved and kept rows,
        its ``slope`` and ``ridge`` (the curvature by the ridge).
    """
    problem = read_problem(run)
    index = part_of(problem, part, parts)
    dual, rows = dual_of(problem, machine, index), PartRows(problem, *ends(index), chunks)
    rng = generator(problem.settings.seed, DESCENT, number, machine, part)
    start = variables(run, previous, machine, index)
    sums = sums_of(run, problem, previous, machine, parts)
    w = sums.sum(axis=0)
    # From zero all parts begin alike: each takes the others to move as it does (the sum of CoCoA+,
    # Ma et al. 2015, with sigma' = K). Later they move apart, and the joint step decides.
    alike = parts if previous is None else 1
    outside = w / alike - sums[part]
    found = descend_part(
        rows,
        _as_of_all(dual, alike),
        start,
        outside,
        constant=constant,
        tol=tol / alike,
        most_visits=most_visits,
        most_passes=most_passes,
        visits=Visits(order, 1.0 if shrinking else np.inf),
        seed=int(rng.integers(1 << 62)),
        callback=pass_reporter(tol),
    )
    if parts == 1:
        attempt.write("w", found.w)
        standing = _measured(attempt, dual, rows, found.beta, found.w, constant)
        return {"passes": found.passes, "rows": len(index), **standing}
    attempt.write("alpha", found.beta)
    attempt.write("step", found.w - outside - sums[part])
    # Each part may have led its free rows to a bound where the joint step does not.
    free = np.flatnonzero(_is_free(dual, found.beta) | _is_free(dual, start))
    kept = rng.permutation(free)[: _kept_rows(problem, parts)]
    kept.sort()
    attempt.write("kept", kept)
    for key, array in arrays_of(problem.take(index[kept])).items():
        attempt.write(key, array)
    step = found.beta - start
    return {
        "passes": found.passes,
        "rows": len(index),
        "moved": int(np.count_nonzero(step)),
        "kept": len(kept),
        "slope": _slope(dual, start, found.beta),
        "ridge": 0.0 if dual.ridge is None else float(dual.ridge @ step**2),
    }


def _kept_rows(problem: Problem, parts: int) -> int:
    """Return of how many free rows, at most, each part keeps copies."""
    row_bytes = max(1, problem.X.nbytes_of(0, problem.n) // problem.n)
    most = min(max(LEAST_KEPT, int(KEPT * problem.n)), KEPT_BYTES // row_bytes)
    return 1 + most // parts


def _slope(dual: Dual, start: Vector, beta: Vector) -> float:
    """Return the slope of the objective along a step, but for what comes from w.

    Where variables have a kink it is that of the chord from `start` to `beta`.
    """
    step = beta - start
    slope = dual.p @ step
    if dual.epsilon is not None:
        slope += dual.epsilon @ (np.abs(beta) - np.abs(start))
    if dual.ridge is not None:
        slope += (dual.ridge * start) @ step
    return float(slope)


def _as_of_all(dual: Dual, parts: int) -> Dual:
    """Return the problem of a part, by a factor, if as many parts take the same step."""
    if parts == 1:
        return dual
    epsilon = None if dual.epsilon is None else dual.epsilon / parts
    ridge = None if dual.ridge is None else dual.ridge / parts
    return replace(dual, p=dual.p / parts, epsilon=epsilon, ridge=ridge)


def join_steps(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    number: int,
    machine: int,
    previous: str | None,
    parts: int,
    constant: float,
    tol: float,
    most_visits: int,
) -> Record:
    """Join the steps of all parts, then descend over free rows of all of them together.

    What parts have in common, as the weight of the constant, each would settle for itself: it is
    the free rows that settle it. Writes ``factors``, the joint ``w``, and the variables of the rows
    that part i has kept, ``kept_i``.

    Parameters
    ----------
    stage : str
        The stage of the round.
    most_visits : int
        Rows that are visited for which it is worth while to have a round, where there are few.
    run, attempt, number, machine, previous, parts, constant, tol
        As for `descend`.
    """
    problem = read_problem(run)
    joint = joined_steps(run, problem, stage, previous, machine, parts)
    beta, w, passes = joint.beta, joint.w, 0
    if len(beta):
        own = measure_part((joint.rows,), joint.dual, beta, w, constant=constant).w
        rng = generator(problem.settings.seed, DESCENT, number, machine, parts)
        found = descend_part(
            (joint.rows,),
            joint.dual,
            beta,
            w - own,
            constant=constant,
            tol=tol,
            most_visits=max(KEPT_PASSES * len(beta), most_visits),
            seed=int(rng.integers(1 << 62)),
        )
        beta, w, passes = found.beta, found.w, found.passes
    attempt.write("w", w)
    attempt.write("factors", joint.factors)
    for part, one in enumerate(joint.split(beta)):
        attempt.write(f"kept_{part:04d}", one)
    return {"kept": len(beta), "kept_passes": passes, "decrease": joint.decrease}


def measure(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    machine: int,
    previous: str | None,
    part: int,
    parts: int,
    chunks: int,
    constant: float,
) -> Record:
    """Take the joint step in a part, and measure its rows where it leads.

    Writes ``alpha``, and ``sum``, what they give to w.

    Parameters
    ----------
    stage : str
        The stage of the round.
    run, attempt, machine, previous, part, parts, chunks, constant
        As for `descend`.
    """
    problem = read_problem(run)
    index = part_of(problem, part, parts)
    dual, rows = dual_of(problem, machine, index), PartRows(problem, *ends(index), chunks)
    step = run.node(stage, name_of(DESCEND, machine, part))
    joined = run.node(stage, name_of(JOIN, machine))
    start = variables(run, previous, machine, index)
    beta = dual.clip(moved(start, step.read("alpha"), joined.read("factors")[part]))
    beta[step.read("kept")] = joined.read(f"kept_{part:04d}")
    return _measured(attempt, dual, rows, beta, joined.read("w"), constant)


def commit_round(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    previous: str | None,
    machines: list[int],
    parts: int,
    tol: float,
) -> Record:
    """Commit where a round has led: variables of all SVMs, their w, and how far they are.

    Writes ``alpha_i`` and ``sums_i``, what each part gives to w, of SVM i; violations are largest
    less smallest projected gradients.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, previous : str
        The stages of the round and of the one before.
    machines : list of int
        SVMs that have descended; the others are as they were.
    parts : int
    tol : float
        Tolerance of the run.
    """

    def stand(machine: int, alpha: Vector, sums: NDArray[np.float64]) -> tuple[Record, Any]:
        del alpha
        alone = name_of(DESCEND, machine, 0)
        joined = run.node(stage, alone if parts == 1 else name_of(JOIN, machine))
        nodes = [run.node(stage, name_of(layer, machine, part)) for part in range(parts)]
        return _standing([node.record for node in nodes], joined.read("w"), sums), sums

    layer = DESCEND if parts == 1 else MEASURE
    return commit_svms(
        run, attempt, stand, stage=stage, previous=previous, machines=machines, parts=parts, tol=tol
    )


def _standing(records: list[Record], w: Vector, sums: Vector) -> Record:
    """Return how far one SVM is, given what its parts have measured at w."""
    fresh = sums.sum(axis=0)
    losses = sum(record["losses"] for record in records)
    linear = sum(record["linear_term"] for record in records)
    objective = 0.5 * float(fresh @ fresh) + linear
    # Gradients were measured at a w that rounding has led away; each is off by at most this.
    error = max(record["longest"] for record in records) * float(np.linalg.norm(fresh - w))
    high = max(record["high"] for record in records)
    low = min(record["low"] for record in records)
    return {
        "objective": objective,
        "gap": max(0.0, 0.5 * float(w @ w) + losses + objective),
        "violation": high - low + 2.0 * error,
        "bounded": sum(record["bounded"] for record in records),
    }


def _measured(
    attempt: Attempt, dual: Dual, rows: PartRows, beta: Vector, w: Vector, constant: float
) -> Record:
    """Measure the rows of a part; see `measure` for what is written."""
    found = measure_part(rows, dual, beta, w, constant=constant)
    attempt.write("alpha", beta)
    attempt.write("sum", found.w)
    return {
        "high": found.high,
        "low": found.low,
        "losses": found.losses,
        "longest": found.longest,
        "linear_term": dual.linear(beta),
        "bounded": int(np.count_nonzero(dual.is_bounded(beta))),
    }


def _is_free(dual: Dual, beta: Vector) -> NDArray[np.bool_]:
    return np.asarray(dual.is_free(beta) & (beta != 0.0))
