"""Working sets as large as memory allows: for kernels by which every row sees every other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_product
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.known_matrix import KnownMatrix
from dcsvm_dask.solvers.matrix_memory import MatrixMemory, Scratch
from dcsvm_dask.solvers.optimality import bias, eased, objective, size_multiplier
from dcsvm_dask.solvers.optimality import violation as violation_of
from dcsvm_dask.tasks import Dual

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

# A set is solved to this share of the present violation: with a large C further steps cost more
# than the next set, which moves the same variables again.
INNER_SHARE = 0.03
# So far where a set costs the tasks of a graph beside ...
TASK_SHARE = 0.001
# ... but never further, here and there, than this share of the tolerance asked for.
INNER_FLOOR = 0.3
# Rows at zero rest whose margin is so many times the violation.
AT_REST = 4.0
# Rows expected this near to their margin join the first set, in units of `Dual.margin`.
NEAR_MARGIN = 0.1
# Rows at a bound this near to violating join a later one ...
NEAR = 0.3
# ... as long as it stays this small, or no larger than so many times what has to be in it: what is
# not needed after all costs as much of the kernel matrix as what is.
SMALL_SET = 1500
FILL = 1.5
# Nor does a set have more rows than so many times the present support vectors: where violators are
# many and support vectors few, most of those only see the same few missing.
GROWTH = 4
# Rows whose f is compared with one in float64, where the rounding of kernel values could matter.
SAMPLED = 64
_EPSILON = float(np.finfo(np.float32).eps)
# Ways in which a variable violates: it rises or falls, and is positive or negative.
N_SIDES = 4
# Sets after which the caller is to look at f from scratch, whatever is left.
MOST_SETS = 500


@dataclass(frozen=True, slots=True)
class Reached:
    """Where working sets ended."""

    beta: Vector
    f: Vector
    """Decision values without the bias, shape (n,), from float32 kernel values."""
    sets: int
    n_iter: int
    kernel_values: int
    fallbacks: int
    """Sets that the inner solver did not finish; see `Solution.fallbacks`."""
    matrix: KnownMatrix
    """The kernel matrix of the last set."""


def solve_working_sets(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    *,
    beta: Vector,
    f: Vector,
    first: Index,
    equality: bool = False,
    tol: float = 1e-3,
    cap: int = 16384,
    inner: str = "auto",
    threads: int = 1,
    rest: bool = False,
    max_iter: int | None = None,
    solved: Callable[[int, dict[str, Any]], object] | None = None,
    memory: MatrixMemory | None = None,
    inexact: bool = False,
) -> Reached:
    """Solve the dual problem by working sets of all free rows and all violators.

    Joachims (1998) with sets of thousands: each is solved by `solve_inner` with its kernel matrix
    in memory, then f of all rows follows from the changed variables. With the first set near to the
    support vectors, a handful of sets is all it takes. Where variables are so large that float32
    kernel values may be too inexact, a sample of f is computed in float64 after each set. At a
    violation of its largest error f is summed from scratch in float64, and sets go on in float64 as
    long as there is room for their matrix.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
    beta, f : ndarray, shape (n,)
        Where to start, and the decision values there; with `equality` the sum of beta stays.
    first : ndarray of int64, shape (m,)
        The first set, ascending.
    equality : bool, default False
    tol : float, default 1e-3
        Violation to stop at, by the f that is kept up to date.
    cap : int, default 16384
        Most rows of a set; the solver holds up to 1.57 float32 matrices of cap^2 values.
    inner : str, default "auto"
        The inner solver; see `solve_inner`.
    threads : int, default 1
    rest : bool, default False
        Let rows at zero rest whose margin is much larger than the violation. Their f is not brought
        up to date any more: the caller has to look whether they violate in the end.
    max_iter : int, optional
        Most steps of two variables, of all sets together.
    solved : callable, optional
        Told after each set how many there were, and of the last one and where it led; a true answer
        stops the solver.
    memory : MatrixMemory, optional
        Of `cap` rows, or as many as X has, for the matrices of the sets.
    inexact : bool, default False
        Whether float32 kernel values may be too inexact for the tolerance: then a set of all rows
        is not solved to the end at once.

    Returns
    -------
    Reached
    """
    beta, f, chosen = beta.copy(), f.copy(), first
    resting = np.zeros(len(dual), dtype=np.bool_)
    sets = steps = values = fallbacks = 0
    start, error, going, exact = 0.0, 0.0, True, False
    if memory is None:
        memory = MatrixMemory(min(max(cap, len(first)), len(dual)))
    matrix, scratch = KnownMatrix(kernel, X, memory, threads), Scratch()
    size = None if dual.spare is None else dual.spare + float(np.abs(beta).sum())
    while True:
        dual = dual if size is None else dual.with_size(beta, size)
        gradient = dual.gradient(f, beta)
        violation = violation_of(gradient, beta, dual, equality=equality)
        start = start if sets else violation
        if sets and solved is not None:
            about = {"rows": len(chosen), "violation": violation, "start": start, "tol": tol}
            support = int(np.count_nonzero(beta))
            about |= {"objective": objective(beta, gradient, dual), "support": support}
            going = not solved(sets, about) and going
        left = None if max_iter is None else max(0, max_iter - steps)
        if violation <= tol or sets >= MOST_SETS or left == 0 or not going:
            return Reached(beta, f, sets, steps, values, fallbacks, matrix)
        if violation <= error:
            exact, error = True, 0.0
            resting[:] = False
            f, computed = _sums_in_float64(kernel, X, beta, slice(None), threads)
            values += computed
            continue
        if sets:
            offset = bias(gradient, beta, dual) if equality else 0.0
            centred, near = gradient + offset, dual
            if size is not None:
                centred, near = eased(centred, dual, size_multiplier(gradient, beta, dual))
            if rest:
                resting |= (beta == 0.0) & (reach(centred, beta, near) < -AT_REST * violation)
            chosen = select_set(
                beta,
                near,
                centred,
                tol,
                min(cap, max(SMALL_SET, GROWTH * int(np.count_nonzero(beta)))),
                equality=equality,
                resting=resting,
                by_sign=size is not None,
            )
        made = matrix.in_float64(chosen) if exact else matrix.of(chosen)
        if made is None:
            return Reached(beta, f, sets, steps, values, fallbacks, matrix)
        K, values_of_set = made
        whole = len(chosen) == len(dual) and not inexact
        found = solve_inner(
            K,
            dual[chosen],
            inner=inner,
            beta=beta[chosen],
            gradient=gradient[chosen],
            equality=equality,
            tol=inner_tol(violation, tol, whole=whole, share=INNER_SHARE),
            max_iter=left,
            scratch=scratch,
        )
        step = found.beta - beta[chosen]
        moved = np.flatnonzero(step)
        others = ~resting
        others[chosen] = False
        change, computed = kernel_product(
            kernel,
            X[others],
            X[chosen[moved]],
            step[moved],
            dtype=np.float64 if exact else np.float32,
            threads=threads,
        )
        beta[chosen] = found.beta
        f[chosen] = dual[chosen].decision(found.gradient, found.beta)
        f[others] += change
        if not exact and _EPSILON * float(K.diagonal().max()) * float(np.abs(beta).sum()) > tol:
            error, sampled = _sampled_error(kernel, X, beta, f, chosen)
            computed += sampled
        going = found.n_iter > 0
        sets, steps = sets + 1, steps + found.n_iter
        values, fallbacks = values + values_of_set + computed, fallbacks + found.fallbacks


def _sampled_error(
    kernel: Kernel, X: Rows, beta: Vector, f: Vector, rows: Index
) -> tuple[float, int]:
    """Return by how much f of some rows is off, by a sample; and the kernel values computed."""
    some = rows[:: max(1, len(rows) // SAMPLED)]
    exact, computed = _sums_in_float64(kernel, X, beta, some)
    return float(np.abs(f[some] - exact).max(initial=0.0)), computed


def _sums_in_float64(
    kernel: Kernel, X: Rows, beta: Vector, rows: Index | slice, threads: int = 1
) -> tuple[Vector, int]:
    """Return f of some rows, from scratch, and the kernel values computed."""
    support = np.flatnonzero(beta)
    sums, computed = kernel_product(
        kernel, X[rows], X[support], beta[support], dtype=np.float64, threads=threads
    )
    return np.asarray(sums), computed


def inner_tol(
    violation: float, tol: float, *, whole: bool = False, share: float = TASK_SHARE
) -> float:
    """Return how far a set is solved where the whole problem is still `violation` away."""
    return INNER_FLOOR * tol if whole else max(INNER_FLOOR * tol, share * violation)


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
    resting: NDArray[np.bool_] | None = None,
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
    resting : ndarray of bool, shape (n,), optional
        Rows to leave out.
    by_sign : bool, default False
        Whether variables of one sign answer to each other alone.
    """
    far = reach(gradient, beta, dual)
    if resting is not None:
        far[resting] = -np.inf
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
    rising, falling = dual.slopes(gradient, beta)
    up = np.where(beta < dual.upper, -rising, -np.inf)
    down = np.where(beta > dual.lower, falling, -np.inf)
    return np.maximum(up, down)


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
