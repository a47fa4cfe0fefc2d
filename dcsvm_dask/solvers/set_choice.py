"""The choice of working sets: free variables, violators, and what is near to violating."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks import Dual

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

# Rows expected this near to their margin join the first set, in units of `Dual.margin`.
NEAR_MARGIN = 0.1
# Rows at a bound this near to violating join a later one ...
NEAR = 0.3
# ... as long as it stays this small, or no larger than so many times what has to be in it: what is
# not needed after all costs as much of the kernel matrix as what is.
SMALL_SET = 1500
FILL = 1.5
# Ways in which a variable violates: it rises or falls, and is positive or negative.
N_SIDES = 4


def first_set(reach: Vector, cap: int, margin: float = 1.0) -> Index:
    """Return the first working set, ascending: what is expected to violate, and some near to that.

    Parameters
    ----------
    reach : ndarray, shape (n,)
        `reach` at zero, by the gradient that is expected.
    cap : int
        Most rows of the set.
    margin : float, default 1.0
        See `Dual.margin`.
    """
    room = min(cap, max(SMALL_SET, int(FILL * np.count_nonzero(reach >= 0.0))))
    return _worst(reach, np.flatnonzero(reach >= -NEAR_MARGIN * margin), room)


def select_set(
    beta: Vector,
    dual: Dual,
    gradient: Vector,
    tol: float,
    cap: int,
    *,
    equality: bool = False,
    shrunk: NDArray[np.bool_] | None = None,
    by_sign: bool = False,
) -> Index:
    """Return the next working set, ascending.

    All free variables, the violators, and some of what is near to violating. Where they are more
    than the cap: half are the worst violators, of both signs of the gradient in turn where the
    problem has an equality, then come the free variables that must answer to them.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
    dual : Dual
    gradient : ndarray, shape (n,), float64
        With an equality centred: F + b.
    tol : float
        Violation at which the problem is solved.
    cap : int
        Most rows of a set.
    equality : bool, default False
    shrunk : ndarray of bool, shape (n,), optional
        Rows to leave out.
    by_sign : bool, default False
        Whether variables of one sign answer to each other alone.
    """
    far = reach(gradient, beta, dual)
    if shrunk is not None:
        far[shrunk] = -np.inf
    violates, free = far > 0.5 * tol, dual.is_free(beta)
    needed = free | violates
    count = int(np.count_nonzero(needed))
    room = min(cap, max(SMALL_SET, int(FILL * count)))
    if count <= room:
        wanted = np.where(needed, np.inf, far)
        return _worst(wanted, np.flatnonzero(wanted >= -NEAR * dual.margin), room)
    side = np.zeros(len(beta), dtype=np.int64)
    if equality:
        rising, falling = dual.slopes(gradient, beta)
        falls = rising + falling >= 0.0
        side = np.where(falls, 1, 0)
        if by_sign:
            side += 2 * np.where(falls, beta <= 0.0, beta < 0.0)
    worst = _in_turn(far, np.flatnonzero(violates), side)[: (room + 1) // 2]
    rest = np.setdiff1d(np.flatnonzero(needed), worst, assume_unique=True)
    rest = _worst(np.where(free, 1.0 + far, far), rest, room - len(worst))
    return np.sort(np.concatenate([worst, rest]))


def reach(gradient: Vector, beta: Vector, dual: Dual) -> Vector:
    """Return how far each variable violates optimality; below zero: how far it is from that.

    Parameters
    ----------
    gradient : ndarray, shape (n,), float64
        With an equality centred: F + b.
    beta : ndarray, shape (n,), float64
    dual : Dual

    Returns
    -------
    ndarray, shape (n,), float64
        -inf where a variable cannot move.
    """
    return np.maximum(*reaches(gradient, beta, dual))


def reaches(gradient: Vector, beta: Vector, dual: Dual) -> tuple[Vector, Vector]:
    """Return how far each variable violates optimality by rising, and by falling; see `reach`.

    Parameters
    ----------
    gradient : ndarray, shape (n,), float64
        With an equality centred: F + b.
    beta : ndarray, shape (n,), float64
    dual : Dual
    """
    rising, falling = dual.slopes(gradient, beta)
    up = np.where(beta < dual.upper, -rising, -np.inf)
    down = np.where(beta > dual.lower, falling, -np.inf)
    return up, down


def _worst(reach: Vector, rows: Index, most: int) -> Index:
    """Return so many of some rows, those that reach furthest; ascending."""
    if len(rows) > most:
        rows = np.sort(rows[np.argsort(-reach[rows], kind="stable")[:most]])
    return rows


def _in_turn(reach: Vector, rows: Index, side: Index) -> Index:
    """Return rows from the worst on, of all sides in turn."""
    ordered = rows[np.argsort(-reach[rows], kind="stable")]
    place = np.zeros(len(ordered), dtype=np.int64)
    for number in range(N_SIDES):
        mine = side[ordered] == number
        place[mine] = N_SIDES * np.arange(np.count_nonzero(mine)) + number
    return ordered[np.argsort(place, kind="stable")]
