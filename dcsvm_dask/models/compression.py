"""A kernel SVM of many support vectors made smaller, within a bound on decision values."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kd_order, kernel_product
from dcsvm_dask.models.elimination import Path, eliminate

Vector = NDArray[np.float64]
Index = NDArray[np.int64]
Block = tuple[Index, Index, Vector]
"""A part of the support vectors, those of it that are left, and their coefficients."""

# Support vectors of a part at first, and most of two parts that become one.
BLOCK, MOST = 2048, 3072
# How much of the bound is used up before the last choice: parts can still become one.
EARLY = 0.5
# Numbers of the forms are float32, the bound holds all the same.
_WITHIN = 1.0 - 1e-4
LOOK_AHEAD = 4
_DISTANCE_ROWS = 1024


@dataclass(frozen=True, slots=True)
class Compressed:
    """What is left of a machine.

    Attributes
    ----------
    rows : ndarray of int64
        Which support vectors, ascending.
    coef : ndarray, shape (rows,), float64
        Their coefficients.
    """

    rows: Index
    coef: Vector


Eliminate = Callable[[Iterable[Block]], Iterable[Path]]


def compress(
    kernel: Kernel,
    support: Rows,
    coef: Vector,
    fit: Rows,
    check: Rows,
    bound: float,
    *,
    each: Eliminate | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Compressed:
    """Leave out as many support vectors of f(x) = sum_i a_i K(x_i, x) as the bound lets one.

    Support vectors are cut into parts of neighbours (in `kd_order`; sparse ones as they come), of
    each of which ever smaller forms are made; see `eliminate`. Which form each part gets is decided
    for all together: the changes of all parts' sums, added up at the rows of `check`, are at most
    the bound. Two parts of which so little is left that they are no larger together than one was
    become one part, whose smaller forms are sought again, against the original: for smooth kernels
    much that neighbours had twice goes then.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    support : Rows, shape (n, d), float32
        Without repeats; see `distinct`.
    coef : ndarray, shape (n,)
    fit : Rows, shape (n_fit, d)
        Rows at which forms are fitted to the original, besides support vectors; some thousands.
    check : Rows, shape (n_check, d)
        Others, at which the bound holds.
    bound : float
        Above 0.
    each : callable, optional
        Gives the path of each block, in their order; by default `eliminate`, one by one. A block's
        work takes some 400 MB, whatever n is.
    report : callable, optional
        Called with a line about the progress.

    Returns
    -------
    Compressed

    Raises
    ------
    InputError
        If the kernel is not positive semi-definite, or has values that are not finite.
    """
    check_kernel(kernel)

    def one_by_one(blocks: Iterable[Block]) -> Iterable[Path]:
        return (eliminate(kernel, support, coef, *b, fit, check, bound) for b in blocks)

    each = each or one_by_one
    n = support.shape[0]
    order = kd_order(support)
    parts = [np.sort(part) for part in np.array_split(order, max(1, -(-n // BLOCK)))]
    paths = list(each((part, part, coef[part]) for part in parts))
    at = [0] * len(paths)
    while True:
        at = choose(paths, EARLY * bound, at)
        sizes = [len(path.kept[k]) for path, k in zip(paths, at, strict=True)]
        report(f"{sum(sizes)} of {n} support vectors left in {len(paths)} part(s), not yet the end")
        pairs = neighbours(sizes)
        if not pairs:
            break
        joined = iter(list(each(_join(paths, at, i) for i in pairs)))
        # What two parts had become is the first form of both together.
        now = [
            (next(joined), 0) if i in pairs else (paths[i], at[i])
            for i in range(len(paths))
            if i - 1 not in pairs
        ]
        paths, at = [path for path, _ in now], [k for _, k in now]
    at = choose(paths, bound, at)
    rows = np.concatenate([path.kept[k] for path, k in zip(paths, at, strict=True)])
    left = np.concatenate([path.coef[k] for path, k in zip(paths, at, strict=True)])
    order = np.argsort(rows)
    return Compressed(rows[order], left[order])


def check_kernel(kernel: Kernel) -> None:
    """Refuse kernels in whose feature space there are no distances.

    Raises
    ------
    InputError
    """
    if not kernel.is_psd:
        raise InputError(
            f"the {kernel.name} kernel is not positive semi-definite with these parameters: models "
            "of it cannot be compressed"
        )


def choose(paths: list[Path], bound: float, given: list[int] | None = None) -> list[int]:
    """Return which form each part gets: as small as together they may be.

    All forms that cost less than some limit for each support vector left out, the largest limit
    by which the summed changes are within the bound, or the given forms, which are, where they are
    smaller; then one part after the other, the cheapest first, as long as the bound holds.
    """
    given = [0] * len(paths) if given is None else given
    within = _WITHIN * bound
    limits = np.unique(np.concatenate([path.cost for path in paths]))

    def forms(limit: float) -> list[int]:
        return [int(np.searchsorted(path.cost, limit, side="right")) - 1 for path in paths]

    def total(at: list[int]) -> Vector:
        changes = (path.change[k] for path, k in zip(paths, at, strict=True))
        return np.asarray(np.sum([*changes], axis=0, dtype=np.float64))

    def holds(change: Vector) -> bool:
        return bool(np.abs(change).max(initial=0.0) <= within)

    def size(at: list[int]) -> int:
        return sum(len(path.kept[k]) for path, k in zip(paths, at, strict=True))

    low, high, at = 0, len(limits), list(given)
    while low < high:
        middle = (low + high) // 2
        found = forms(float(limits[middle]))
        if holds(total(found)):
            low, at = middle + 1, min(at, found, key=size)
        else:
            high = middle
    change, moved = total(at), True
    while moved:  # what one part gives up can make room for another that had none
        moved = False
        waiting = [
            (path.next_cost(k), i) for i, (path, k) in enumerate(zip(paths, at, strict=True))
        ]
        heapq.heapify(waiting)
        while waiting:
            cost, i = heapq.heappop(waiting)
            if cost == np.inf:
                break
            path, others = paths[i], change - paths[i].change[at[i]]
            # The largest change does not grow evenly: what comes next may fit where this does not.
            for k in range(at[i] + 1, min(at[i] + 1 + LOOK_AHEAD, len(path.cost))):
                if holds(others + path.change[k]):
                    change, at[i], moved = others + path.change[k], k, True
                    heapq.heappush(waiting, (path.next_cost(k), i))
                    break
    return at


def neighbours(sizes: list[int]) -> list[int]:
    """Return the places of parts that become one with the next, none of them twice."""
    found, i = [], 0
    while i + 1 < len(sizes):
        if sizes[i] + sizes[i + 1] <= MOST:
            found.append(i)
            i += 1
        i += 1
    return found


def _join(paths: list[Path], at: list[int], i: int) -> Block:
    both = (i, i + 1)
    part = np.sort(np.concatenate([paths[j].part for j in both]))
    kept = np.concatenate([paths[j].kept[at[j]] for j in both])
    coef = np.concatenate([paths[j].coef[at[j]] for j in both])
    order = np.argsort(kept)
    return part, kept[order], coef[order]


def distinct(support: Rows, coef: Vector) -> tuple[Index, Vector]:
    """Return the first of all equal support vectors, and the sums of their coefficients.

    The same SVM, exactly. Those whose sum is 0 are left out.

    Returns
    -------
    rows : ndarray of int64
        Ascending.
    coef : ndarray, float64
    """
    first: dict[bytes, int] = {}
    keys = (_bytes_of(support, i) for i in range(support.shape[0]))
    stands_for = np.array([first.setdefault(key, i) for i, key in enumerate(keys)], dtype=np.int64)
    rows, inverse = np.unique(stands_for, return_inverse=True)
    sums = np.bincount(inverse, weights=coef, minlength=len(rows))
    return rows[sums != 0.0], sums[sums != 0.0]


def _bytes_of(X: Rows, i: int) -> bytes:
    if not is_sparse(X):
        return bytes(np.ascontiguousarray(X[i]).tobytes())
    own = slice(X.indptr[i], X.indptr[i + 1])
    there = X.data[own] != 0
    indices: Any = X.indices[own][there].astype(np.int64)
    return bytes(indices.tobytes() + X.data[own][there].tobytes())


def squared_distance(kernel: Kernel, X: Rows, change: Vector, start: int = 0) -> float:
    """Return the share of some rows in ||sum_i c_i phi(x_i)||^2, of `_DISTANCE_ROWS` from `start`.

    The sum of all shares is the squared distance of two SVMs whose coefficients differ by c; by
    Cauchy's inequality no decision value changes by more than its root times sqrt(K(x, x)).
    """
    some = slice(start, start + _DISTANCE_ROWS)
    if not change[some].any():
        return 0.0
    products = kernel_product(kernel, X[some], X, change, dtype=np.float64)[0]
    return float(products @ change[some])


def shares(n: int) -> range:
    """Return where the shares of `squared_distance` begin."""
    return range(0, n, _DISTANCE_ROWS)
