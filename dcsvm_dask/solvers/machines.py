"""SVMs of two classes for a problem of many: which rows each has, and how many go on at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.team import for_each_large
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Classification, Dual

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

SCHEMES = ("ovo", "ovr")
CLASSES = Classification()
_ROUNDING = 1e-12
# A solver has so many float32 matrices of its working set's rows.
_MATRICES = 1.57
# Seconds: small SVMs are done sooner by one thread, which Python's lock does not keep waiting.
_JOIN_AFTER = 0.03
# Rows of the largest of such.
_SMALL_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Machine:
    """A problem of two classes among many."""

    positive: int
    """The class whose labels are +1."""
    negative: int | None
    """The class whose labels are -1; None: all others."""

    @property
    def pair(self) -> tuple[int, int] | None:
        """Both classes, of which the first is positive; None of a class against all others."""
        return None if self.negative is None else (self.positive, self.negative)

    @property
    def has_exact_end(self) -> bool:
        """Whether its few free variables are solved for exactly.

        Of a class against all others they are not: where classes cannot be separated, their
        decision values, of which the largest wins, would be equal but for rounding.
        """
        return self.negative is not None

    def names(self, classes: Sequence[Any]) -> str:
        """Return how messages name the two sides.

        Parameters
        ----------
        classes : sequence
            The label of each class.
        """
        if self.negative is None:
            return f"the class {classes[self.positive]!r} and the rest"
        first, last = sorted((self.positive, self.negative))
        return f"the classes {classes[first]!r} and {classes[last]!r}"

    def rows(self, codes: NDArray[np.integer]) -> tuple[Index, Vector]:
        """Return the rows that take part, ascending, and their labels.

        Parameters
        ----------
        codes : ndarray, shape (n,), integers
            The class of each row.
        """
        own = codes == self.positive
        if self.negative is None:
            return np.arange(len(codes)), np.where(own, 1.0, -1.0)
        rows = np.flatnonzero(own | (codes == self.negative))
        return rows, np.where(own[rows], 1.0, -1.0)

    def place(self, codes: NDArray[np.integer]) -> Index:
        """Return in which row of the dual coefficients this machine's are, for rows that it has.

        Of a row of class c, row k belongs to the SVM of c and the k-th of the other classes,
        as in scikit-learn's ``dual_coef_``; against the rest row k is class k's machine.

        Parameters
        ----------
        codes : ndarray, shape (n,), integers
            Their classes.
        """
        if self.negative is None:
            return np.full(len(codes), self.positive)
        first, last = sorted((self.positive, self.negative))
        return _places_of_pair(codes, first, last)


@dataclass(frozen=True, slots=True)
class Output:
    """A problem of all rows beside others, without classes: as that of one of several quantiles."""

    number: int

    def rows(self, targets: NDArray[Any]) -> tuple[Index, Vector]:
        """Return the rows that take part, which are all, and their targets.

        Parameters
        ----------
        targets : ndarray, shape (n,)
        """
        return np.arange(len(targets)), targets.astype(np.float64)

    def place(self, targets: NDArray[Any]) -> Index:
        """Return in which row of the dual coefficients this machine's are; see `Machine.place`."""
        return np.full(len(targets), self.number)


def places_of(machines: Sequence[Machine], number: Index, codes: NDArray[np.integer]) -> Index:
    """Return `Machine.place` of the rows of many machines at once.

    Parameters
    ----------
    machines : sequence of Machine
    number : ndarray, shape (n,), int64
        Which of them each row belongs to.
    codes : ndarray, shape (n,), integers
        The classes of the rows.
    """
    positive = np.array([one.positive for one in machines])
    negative = np.array([-1 if one.negative is None else one.negative for one in machines])
    first, last = np.minimum(positive, negative), np.maximum(positive, negative)
    pairs = _places_of_pair(codes, first[number], last[number])
    return np.where(first[number] < 0, positive[number], pairs)


def _places_of_pair(codes: NDArray[np.integer], first: ArrayLike, last: ArrayLike) -> Index:
    """Return `Machine.place` of rows of pairs, whose classes are `first` and, above it, `last`."""
    return np.where(codes == first, np.subtract(last, 1), first)


@dataclass(frozen=True, slots=True)
class SolvedMachine:
    """What came out of a machine."""

    machine: Machine
    rows: Index
    """The rows that took part, ascending."""
    solution: Solution


def machines_of(n_classes: int, scheme: str = "ovo") -> list[Machine]:
    """Return the SVMs of a problem.

    Parameters
    ----------
    n_classes : int
        At least 2.
    scheme : {"ovo", "ovr"}
        One for each pair of classes, in LIBSVM's order (0, 1), (0, 2) to (k - 2, k - 1), whose
        first class is positive; or one for each class against the rest (of two classes: for the
        second).
    """
    if scheme not in SCHEMES:
        raise InputError(f"scheme is {scheme!r}; give one of {', '.join(SCHEMES)}.")
    if scheme == "ovo":
        return [Machine(a, b) for a, b in combinations(range(n_classes), 2)]
    return [Machine(c, None) for c in (range(n_classes) if n_classes > 2 else (1,))]


def scheme_of(machines: list[Machine]) -> str:
    """Return the scheme that `machines_of` was given, "ovo" or "ovr"."""
    return "ovr" if machines[0].negative is None else "ovo"


def largest_machine(counts: ArrayLike, scheme: str) -> int:
    """Return the rows of the SVM that has most, given those of every class."""
    counts = np.sort(counts)
    return int(counts.sum() if scheme == "ovr" else counts[-2:].sum())


def labels_of_classes(n_classes: int, scheme: str = "ovo") -> NDArray[np.int8]:
    """Return the label of each class in each machine, shape (n_classes, n_machines); 0: no part."""
    machines = machines_of(n_classes, scheme)
    found = np.zeros((n_classes, len(machines)), dtype=np.int8)
    for number, machine in enumerate(machines):
        rows, y = machine.rows(np.arange(n_classes))
        found[rows, number] = y
    return found


def coefficient_rows(n_classes: int, scheme: str = "ovo") -> int:
    """Return how many dual coefficients each row has; see `Machine.place`."""
    return n_classes - 1 if scheme == "ovo" else n_classes


def for_each_machine(
    solve: Callable[[int], object], count: int, rows: int, threads: int, most: int
) -> None:
    """Call `solve` on the number of every SVM, several of them at a time.

    Parameters
    ----------
    solve : callable
    count : int
        SVMs.
    rows : int
        Those of the largest SVM.
    threads : int
        Those without an SVM of their own help with the kernel values of others.
    most : int
        SVMs that may be solved at a time.
    """
    if rows <= _SMALL_ROWS:
        for_each(solve, range(count), most, after=_JOIN_AFTER)
    else:
        for_each_large(solve, range(count), threads, most)


def matrix_bytes(rows: int) -> float:
    """Return the bytes that a solver takes for the matrices of so many rows of a working set."""
    return 4.0 * _MATRICES * rows**2


def at_a_time(memory: float, each: float, most: int) -> int:
    """Return how many pieces of work that take `each` bytes go on at a time, from 1 to `most`."""
    return max(1, min(most, int(memory / max(1.0, each))))


def start_within(beta: Vector, dual: Dual, equality: bool) -> Vector:
    """Return where an SVM starts: within its bounds and, with an equality, on it.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
    dual : Dual
    equality : bool
    """
    found = dual.clip(beta)
    size, positive = np.abs(found), dual.upper > 0.0
    sums = size[positive].sum(), size[~positive].sum()
    # What rounding leaves is no reason to take variables off their bounds.
    if equality and max(sums) - min(sums) > _ROUNDING * max(sums):
        found *= np.where(positive, *(min(sums) / one if one else 0.0 for one in sums))
    return found


def unsolved(dual: Dual, bias: float, *, converged: bool = True) -> Solution:
    """Return the solution at zero.

    Parameters
    ----------
    dual : Dual
    bias : float
    converged : bool, default True
    """
    zero = np.zeros(len(dual))
    return Solution(zero, dual.p.copy(), 0.0, 0.0, 0, converged=converged, bias=bias)


def only_class(y: Vector) -> float | None:
    """Return the decision where all labels are the same, 0 where there are none; else None."""
    if abs(y.sum()) != len(y):
        return None
    return float(y[0]) if len(y) else 0.0
