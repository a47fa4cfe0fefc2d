"""How many rounds of a chain are left, by how the violation has fallen from round to round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from dcsvm_dask.diagnostics.progress.stage import DONE, RUNNING, StageProgress

MOST_ROUNDS = 50
USUAL_FALL, LIKE_ROUNDS = 1.0, 2
"""By how much the logarithm of a violation falls in a round, typically or in the chain before, and
as how many rounds that counts."""
LATEST_FALLS = 4
"""Latest rounds that say how fast it falls."""


def rounds_left(
    chain: Sequence[StageProgress], planned: int, before: Sequence[StageProgress] = ()
) -> int:
    """Return the estimated number of rounds of a chain that have not begun.

    Parameters
    ----------
    chain : sequence of StageProgress
        The start from scratch and the rounds that have begun, in order.
    planned : int
        Planned number of rounds.
    before : sequence of StageProgress
        The rounds of a chain that has ended, which say how fast violations fall.

    Returns
    -------
    int
    """
    found, tol = violations(chain), tolerance(chain)
    if not found or tol is None:
        return max(0, planned + 1 - max(1, len(chain)))
    if found[-1] <= tol:
        return 0
    usual = log_falls(violations(before)) or [USUAL_FALL]
    seen = log_falls(found[-LATEST_FALLS - 1 :])
    fall = (LIKE_ROUNDS * fmean(usual) + sum(seen)) / (LIKE_ROUNDS + len(seen))
    way = math.log(found[-1] / tol)
    rounds = math.ceil(way / max(fall, way / MOST_ROUNDS) - 0.1)  # nearly met is met
    return max(0, rounds - sum(one.state == RUNNING for one in chain))


def proof_left(chain: Sequence[StageProgress], rounds: int) -> float:
    """Return the estimated seconds in which f from scratch proves the end of a chain.

    0 where it is under way or done, and where the chain needs none.

    Parameters
    ----------
    chain : sequence of StageProgress
        As for `rounds_left`.
    rounds : int
        Rounds that are expected.
    """
    first, last = chain[0], chain[-1]
    if not first.kind.of_all_rows or (last is first and first.state == RUNNING):
        return 0.0
    starts_anew = not last.improves
    if starts_anew and not rounds:
        return 0.0
    return first.planned if first.resumed else first.seconds(first.ended or 0.0)


def violations(chain: Sequence[StageProgress]) -> list[float]:
    """Return the violations at the committed points of a chain."""
    return [one.record["violation"] for one in chain if one.state == DONE and one.record]


def tolerance(chain: Sequence[StageProgress]) -> float | None:
    """Return the tolerance of a chain; None before its start is committed."""
    return next((one.record["tol"] for one in chain if "tol" in one.record), None)


def log_falls(found: Sequence[float]) -> list[float]:
    """Return by how much the logarithms of violations fall from each to the next."""
    known = [math.log(one) for one in found if one > 0.0]
    return [before - after for before, after in pairwise(known)]
