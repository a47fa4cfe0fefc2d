"""SVMs of two classes for a problem of many, solved from the rows, which they share."""

from __future__ import annotations

from collections.abc import Callable, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix, stored_for_speed
from dcsvm_dask.solvers.class_blocks import ClassBlocks
from dcsvm_dask.solvers.machines import (
    CLASSES,
    Machine,
    SolvedMachine,
    at_a_time,
    for_each_machine,
    matrix_bytes,
    only_class,
    start_within,
    unsolved,
)
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.on_demand import SHARED_FEATURES, solve_on_demand, suits
from dcsvm_dask.solvers.pairs_on_demand import solve_pairs_on_demand, suitable
from dcsvm_dask.solvers.small_pairs import PAIR_ROWS, solve_small_pairs
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.whole import INEXACT_UP_TO, SMALL, solve_whole
from dcsvm_dask.tasks import Classification, Dual

Vector = NDArray[np.float64]
Index = NDArray[np.int64]


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
    rows are enough for them (`solve_pairs_on_demand`); SVMs of all rows, if these are up to 2,048,
    share one kernel matrix.

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
    bounds = np.broadcast_to(np.asarray(C, np.float64), X.shape[0])
    pairs = [one.pair for one in machines if one.pair is not None]
    solved: dict[tuple[int, int], tuple[Index, Solution]] = {}
    tried: list[tuple[int, int]] = []
    from_zero = equality and alpha is None and max_iter is None and inner in ("auto", "smo")
    if from_zero and callback is None and not task.squared:
        few: dict[str, Any] = {"tol": tol, "threads": threads}
        tried = suitable(X, codes, pairs)
        solved = solve_pairs_on_demand(kernel, X, codes, bounds, tried, **few)
        pairs = [pair for pair in pairs if pair not in solved]
        most = max(most_shared, 8.0 * PAIR_ROWS**2)  # as much as one pair would take by itself
        solved |= solve_small_pairs(kernel, X, codes, bounds, pairs, most=most, **few)
        pairs = [pair for pair in pairs if pair not in solved]
    rows = _most_rows(machines, np.bincount(codes).tolist())
    shared = ClassBlocks.of(kernel, X, codes, pairs, most_shared)
    each = _bytes_of_largest(rows, working_size, shared)
    room = threads * matrix_bytes(working_size) if memory is None else memory
    side_by_side = at_a_time(room, each, min(threads, len(machines)))
    problem = _SharedProblem(
        kernel=kernel,
        X=X,
        codes=codes,
        bounds=bounds,
        task=task,
        shared=shared,
        whole=_whole_matrix(kernel, X, machines, threads),
        alpha=alpha,
        blocks=blocks,
        few_rows={one.pair for one in machines if from_zero} - set(tried),
        how={
            "equality": equality,
            "tol": tol,
            "working_size": working_size,
            "inner": inner,
            "max_iter": max_iter,
            "seed": seed,
            "threads": threads if side_by_side == 1 else 1,  # those without an SVM help others
            "callback": callback,
            "memory": MatrixMemory(min(rows, working_size)),
        },
    )
    found: dict[int, SolvedMachine] = {}

    def solve(number: int) -> None:
        machine = machines[number]
        pair = machine.pair
        with within(number):
            if pair in solved:
                found[number] = SolvedMachine(machine, *solved[pair])
            else:
                found[number] = problem.solve(machine)

    for_each_machine(solve, len(machines), rows, threads, side_by_side)
    return [found[number] for number in range(len(machines))]


def _bytes_of_largest(rows: int, working_size: int, shared: ClassBlocks | None) -> float:
    """Return the bytes that the matrices of the largest SVM take.

    Parameters
    ----------
    rows : int
        Those of that SVM.
    working_size : int
    shared : ClassBlocks, optional
    """
    float64 = 2 if rows <= INEXACT_UP_TO else 1
    own = matrix_bytes(min(rows, working_size)) * float64
    return own if shared is None else max(own, 8.0 * shared.largest**2)


def _whole_matrix(kernel: Kernel, X: Rows, machines: list[Machine], threads: int) -> Vector | None:
    """Return the kernel matrix of few rows, for SVMs of all of them; None without such SVMs."""
    if X.shape[0] > SMALL or all(one.negative is not None for one in machines):
        return None
    return kernel_matrix(kernel, X, dtype=np.float64, threads=threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SharedProblem:
    """Rows, and what else is the same for all SVMs over them; see `solve_machines`."""

    kernel: Kernel
    X: Rows
    codes: NDArray[np.integer]
    bounds: Vector
    task: Classification
    shared: ClassBlocks | None
    """Kernel values of small pairs of classes."""
    whole: Vector | None
    """Kernel matrix of all rows, where an SVM has these and they are few."""
    alpha: Vector | None
    blocks: NDArray[np.integer] | None
    few_rows: Set[tuple[int, int] | None]
    """Pairs for which `solve_on_demand` may be tried where it suits."""
    how: dict[str, Any]
    """Options of `solve_whole`."""

    def solve(self, machine: Machine) -> SolvedMachine:
        """Solve one SVM, on any thread."""
        pair = self._shared_pair(machine)
        if pair is None or self.shared is None:
            rows, y = machine.rows(self.codes)
        else:
            rows, y = self.shared.variables(*pair)
        dual = self.task.dual(y, self.bounds[rows])
        decision = only_class(y)
        if decision is not None:
            return SolvedMachine(machine, rows, unsolved(dual, decision))
        solution = None
        if pair in self.few_rows and pair is not None and suits(self.X, dual, SHARED_FEATURES):
            solution = self._by_few_rows(machine, rows, dual)
        if solution is None:
            with self._matrix(pair, rows) as K:
                solution = self._by_matrix(machine, rows, y, dual, K)
        return _ascending(machine, rows, solution)

    def _shared_pair(self, machine: Machine) -> tuple[int, int] | None:
        """Return the classes of an SVM whose kernel values are shared; None of another SVM."""
        if self.shared is None or machine.pair not in self.shared.pairs:
            return None
        return machine.pair

    def _matrix(
        self, pair: tuple[int, int] | None, rows: Index
    ) -> AbstractContextManager[Vector | None]:
        """Give the kernel matrix of an SVM, where it is shared, for as long as it is solved."""
        if pair is not None and self.shared is not None:
            return self.shared.pair(*pair)
        return nullcontext(self.whole if len(rows) == len(self.codes) else None)

    def _by_few_rows(self, machine: Machine, rows: Index, dual: Dual) -> Solution | None:
        """Return the solution, if few kernel rows are enough for it."""
        how = {key: self.how[key] for key in ("tol", "inner", "callback")}
        exact = machine.has_exact_end
        solution, _ = solve_on_demand(self.kernel, self.X[rows], dual, exact=exact, **how)
        return solution

    def _by_matrix(
        self, machine: Machine, rows: Index, y: Vector, dual: Dual, K: Vector | None
    ) -> Solution:
        """Return the solution by the kernel matrix of the rows, or without one by working sets."""
        if K is not None and K is self.whole and dual.ridge is not None:
            K = K.copy()  # solvers put the ridge into the matrix, meanwhile
        beta = None
        if self.alpha is not None:
            signed = y * self.alpha[machine.place(self.codes[rows]), rows]
            beta = start_within(signed, dual, self.how["equality"])
        # Rows are not copied where all take part, and not looked at where their matrix is known.
        has_all = K is not None or len(rows) == len(self.codes)
        solution, _ = solve_whole(
            self.kernel,
            self.X if has_all else self.X[rows],
            dual,
            beta=beta,
            blocks=None if self.blocks is None else self.blocks[rows],
            K=K,
            exact=machine.has_exact_end,
            **self.how,
        )
        return solution


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


def _ascending(machine: Machine, rows: Index, solution: Solution) -> SolvedMachine:
    """Return an SVM with its rows, whatever their order was, ascending."""
    order = np.argsort(rows)
    solution.beta, solution.gradient = solution.beta[order], solution.gradient[order]
    return SolvedMachine(machine, rows[order], solution)
