"""SVMs of two classes for a problem of many: which rows each has, and all of them solved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix, stored_for_speed
from dcsvm_dask.kernels.team import for_each_large
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.class_blocks import ClassBlocks
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.on_demand import SHARED_FEATURES, solve_on_demand, suits
from dcsvm_dask.solvers.small_pairs import PAIR_ROWS, solve_small_pairs
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.whole import INEXACT_UP_TO, SMALL, solve_whole
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
    def has_exact_end(self) -> bool:
        """Whether its few free variables are solved for exactly.

        Of a class against all others they are not: where classes cannot be told apart, their
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
        return np.where(codes == first, last - 1, first)


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


def solve_machines(
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.integer],
    C: ArrayLike,
    machines: list[Machine],
    *,
    equality: bool = False,
    tol: float = 1e-3,
    working_size: int = 8192,
    inner: str = "auto",
    max_iter: int | None = None,
    seed: int = 0,
    threads: int = 1,
    memory: float | None = None,
    most_shared: float = 2.0**28,
    alpha: Vector | None = None,
    blocks: NDArray[np.integer] | None = None,
    callback: Callable[[int, float], object] | None = None,
    within: Callable[[int], AbstractContextManager[object]] = lambda _: nullcontext(),
    task: Classification = CLASSES,
) -> list[SolvedMachine]:
    """Solve SVMs over the same rows, side by side; see `solve_whole`.

    Pairs of classes of up to 3,072 rows share the kernel values within classes, unless few kernel
    rows are enough for them (`solve_on_demand`); SVMs of all rows, if these are up to 2,048, share
    one kernel matrix.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    codes : ndarray, shape (n,), integers
        The class of each row.
    C : float or array, shape (n,)
        Upper bounds, 0 or more; of the squared loss its weights, above 0.
    machines : list of Machine
    equality, tol, working_size, inner, max_iter, seed, callback
        As for `solve_whole`.
    threads : int, default 1
        Threads that share the SVMs, and the kernel values of each where they are more. The
        result is the same. Give BLAS one.
    memory : float, optional
        Bytes for the matrices of all SVMs that are solved at a time, which may make these
        fewer; by default as much as working sets of so many threads take.
    most_shared : float, default 2**28
        Bytes of kernel values that pairs may share; they share nothing where it would be more.
    alpha : ndarray, shape (n_coefficients, n), optional
        Where SVMs start, 0 or more, without signs; what none may have is brought within its
        bounds. Which of them are a machine's, `Machine.place` says.
    blocks : ndarray, shape (n,), integers, optional
        A block for each row, as for `solve_whole`.
    within : callable, optional
        Returns the context in which an SVM is solved, given its number; on several threads.
    task : Classification, optional
        Which loss they have; by default the hinge.

    Returns
    -------
    list of SolvedMachine
        In the order of `machines`.
    """
    X = stored_for_speed(X)
    n = X.shape[0]
    bounds = np.broadcast_to(np.asarray(C, np.float64), n)
    pairs = [(one.positive, one.negative) for one in machines if one.negative is not None]
    tiny: dict[tuple[int, int], tuple[Index, Solution]] = {}
    from_zero = equality and alpha is None and max_iter is None and inner in ("auto", "smo")
    if from_zero and callback is None and not task.squared:
        most = max(most_shared, 8.0 * PAIR_ROWS**2)  # as much as one pair would take by itself
        tiny = solve_small_pairs(
            kernel, X, codes, bounds, pairs, tol=tol, most=most, threads=threads
        )
        pairs = [pair for pair in pairs if pair not in tiny]
    shared = ClassBlocks.of(kernel, X, codes, pairs, most_shared)
    rows = _most_rows(machines, np.bincount(codes).tolist())
    each = matrix_bytes(min(rows, working_size)) * (2 if rows <= INEXACT_UP_TO else 1)  # float64
    if shared is not None:
        each = max(each, 8.0 * shared.largest**2)
    room = threads * matrix_bytes(working_size) if memory is None else memory
    side_by_side = at_a_time(room, each, min(threads, len(machines)))
    whole = None
    if n <= SMALL and any(one.negative is None for one in machines):
        whole = kernel_matrix(kernel, X, dtype=np.float64, threads=threads)
    found: dict[int, SolvedMachine] = {}
    threads_each = threads if side_by_side == 1 else 1  # those without an SVM of their own help
    matrices = MatrixMemory(min(rows, working_size))

    def begin(machine: Machine, rows: Index, y: Vector, dual: Dual) -> Vector | None:
        if alpha is None:
            return None
        return start_within(y * alpha[machine.place(codes[rows]), rows], dual, equality)

    def solve(number: int) -> None:
        machine = machines[number]
        a, b = machine.positive, machine.negative
        if b is not None and (a, b) in tiny:
            found[number] = SolvedMachine(machine, *tiny[a, b])
            return
        matrix: AbstractContextManager[Any]
        shares = False
        if shared is not None and b is not None and (a, b) in shared.pairs:
            shares = True
            (rows, y), matrix = shared.variables(a, b), shared.pair(a, b)
        else:
            rows, y = machine.rows(codes)
            matrix = nullcontext(whole if len(rows) == n else None)
        decision = only_class(y)
        if decision is not None:
            dual = task.dual(y, bounds[rows])
            found[number] = SolvedMachine(machine, rows, unsolved(dual, decision))
            return
        dual = task.dual(y, bounds[rows])
        if shares and from_zero and suits(X, dual, SHARED_FEATURES):
            exact = machine.has_exact_end
            few, _ = solve_on_demand(
                kernel, X[rows], dual, tol=tol, inner=inner, exact=exact, callback=callback
            )
            if few is not None:
                found[number] = _ascending(machine, rows, few)
                return
        with matrix as K:
            if K is whole and K is not None and dual.ridge is not None:
                K = K.copy()  # solvers put the ridge into the matrix, meanwhile
            solution, _ = solve_whole(
                kernel,
                X if K is not None or len(rows) == n else X[rows],
                dual,
                beta=begin(machine, rows, y, dual),
                blocks=None if blocks is None else blocks[rows],
                K=K,
                equality=equality,
                tol=tol,
                working_size=working_size,
                inner=inner,
                max_iter=max_iter,
                seed=seed,
                threads=threads_each,
                callback=callback,
                exact=machine.has_exact_end,
                memory=matrices,
            )
        found[number] = _ascending(machine, rows, solution)

    def solve_within(number: int) -> None:
        with within(number):
            solve(number)

    for_each_machine(solve_within, len(machines), rows, threads, side_by_side)
    return [found[number] for number in range(len(machines))]


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


def _most_rows(machines: list[Machine], counts: list[int]) -> int:
    """Return the rows of the SVM that has most, given those of every class."""
    of_class = dict(enumerate(counts))
    return max(
        (
            sum(counts)
            if one.negative is None
            else of_class.get(one.positive, 0) + of_class.get(one.negative, 0)
            for one in machines
        ),
        default=0,
    )


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


def _ascending(machine: Machine, rows: Index, solution: Solution) -> SolvedMachine:
    """Return an SVM with its rows, whatever their order was, ascending."""
    order = np.argsort(rows)
    solution.beta, solution.gradient = solution.beta[order], solution.gradient[order]
    return SolvedMachine(machine, rows[order], solution)


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
