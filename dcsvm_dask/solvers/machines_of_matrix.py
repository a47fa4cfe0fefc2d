"""SVMs of two classes for a problem of many, whose kernel matrix is given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.machines import (
    CLASSES,
    Machine,
    SolvedMachine,
    at_a_time,
    only_class,
    start_within,
    unsolved,
)
from dcsvm_dask.solvers.smo.columns import take
from dcsvm_dask.solvers.whole import solve_whole
from dcsvm_dask.tasks import Classification

Vector = NDArray[np.float64]

# Bytes of a value of the matrix, and of what a solver copies of it.
_BYTES = 16.0


def solve_machines_of_matrix(
    K: Vector,
    codes: NDArray[np.integer],
    C: Vector,
    machines: list[Machine],
    *,
    equality: bool = False,
    alpha: Vector | None = None,
    threads: int = 1,
    memory: float | None = None,
    within: Callable[[int], AbstractContextManager[object]] = lambda _: nullcontext(),
    task: Classification = CLASSES,
    **how: Any,
) -> list[SolvedMachine]:
    """Solve SVMs over the same rows, side by side, each with its part of the kernel matrix.

    Parameters
    ----------
    K : ndarray, shape (n, n), float64
    codes : ndarray, shape (n,), integers
        The class of each row.
    C : ndarray, shape (n,)
        As for `solve_machines`.
    machines : list of Machine
    equality, alpha, threads, memory, within, task
        As for `solve_machines`.
    **how
        ``tol``, ``inner``, ``max_iter`` and ``callback`` of `solve_whole`.

    Returns
    -------
    list of SolvedMachine
        In the order of `machines`.
    """
    found: dict[int, SolvedMachine] = {}
    largest = max((len(one.rows(codes)[0]) for one in machines), default=0)
    most = min(threads, len(machines))
    side_by_side = most if memory is None else at_a_time(memory, _BYTES * largest**2, most)

    def solve(number: int) -> None:
        machine = machines[number]
        rows, y = machine.rows(codes)
        dual = task.dual(y, C[rows])
        decision = only_class(y)
        if decision is not None:
            found[number] = SolvedMachine(machine, rows, unsolved(dual, decision))
            return
        beta = None
        if alpha is not None:
            beta = start_within(y * alpha[machine.place(codes[rows]), rows], dual, equality)
        mine = K if len(rows) == len(K) else take(K, rows, np.empty(len(rows) ** 2))
        if dual.ridge is not None and mine is K:
            mine = K.copy()  # solvers put the ridge into the matrix, which SVMs share
        # Nothing is asked of the kernel and the rows of a matrix that is known.
        solution, _ = solve_whole(
            Kernel(),
            mine,
            dual,
            beta=beta,
            K=mine,
            equality=equality,
            exact=machine.has_exact_end,
            **how,
        )
        found[number] = SolvedMachine(machine, rows, solution)

    def solve_within(number: int) -> None:
        with within(number):
            solve(number)

    for_each(solve_within, range(len(machines)), side_by_side)
    return [found[number] for number in range(len(machines))]
