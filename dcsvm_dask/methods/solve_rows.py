"""Solving the problem of some rows, whatever their number, with or without a bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, counted_kernel_matrix, is_sparse, kd_order
from dcsvm_dask.methods.helping import shared_rows
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.solved import SolvedRecord
from dcsvm_dask.solvers import Solution, bias, solve_decomposition, solve_inner
from dcsvm_dask.solvers.divide import NEGLIGIBLE
from dcsvm_dask.storage.node import Record
from dcsvm_dask.tasks import Dual

# Share of the tolerance that a product may lose by skipping far pairs of tiles; far below what
# the violation needs, since the objective sums these errors over all rows.
FAR_PAIRS = 1e-4


class RowsSolver:
    """The problem of some rows: solved in memory up to the cap, by decomposition above it.

    Attributes
    ----------
    kernel_values : int
        How many were computed so far.
    in_memory : bool
        Whether the kernel matrix is kept, so that solving again costs no kernel values.
    """

    def __init__(self, settings: Settings, X: Rows, dual: Dual) -> None:
        self.dual = dual
        self.kernel_values = 0
        self._settings, self._X = settings, X
        self._K: NDArray[np.floating] | None = None
        self.in_memory = len(dual) <= settings.block_cap
        if self.in_memory:
            self._K, self.kernel_values = counted_kernel_matrix(
                settings.kernel, X, least=NEGLIGIBLE
            )

    def solve(
        self,
        *,
        beta: Vector | None,
        tol: float,
        gradient: Vector | None = None,
        equality: bool = False,
    ) -> Solution:
        """Solve it, as `solve_inner` does."""
        start: dict[str, Any] = {
            "beta": beta,
            "gradient": gradient,
            "equality": equality,
            "tol": tol,
            "inner": self._settings.inner,
        }
        if self._K is not None:
            return solve_inner(self._K, self.dual, **start)
        with shared_rows(self._X) as shared:
            solution, values = solve_decomposition(
                self._settings.kernel,
                self._X,
                self.dual,
                **start,
                working_size=self._settings.block_cap,
                budget=FAR_PAIRS * tol,
                # Levels are only starts, and of a round's step no more is believed than it brings.
                verify=False,
                shared=shared,
            )
        self.kernel_values += values
        return solution


Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def solve_machine(
    problem: Problem,
    index: Index,
    dual: Dual,
    *,
    tol: float,
    beta: Vector | None = None,
    f: Vector | None = None,
) -> tuple[Vector, Record]:
    """Solve the problem of some variables as if there were no others.

    Parameters
    ----------
    index : ndarray of int64, shape (m,)
    dual : Dual
        Their linear term and bounds.
    tol : float
    beta, f : ndarray, shape (m,), optional
        Where to start, feasible, and the decision values there.

    Returns
    -------
    beta : ndarray, shape (m,)
    record : dict
        What it came to, and its ``bias``.
    """
    settings = problem.settings
    X = problem.take(index)
    order = np.arange(len(index))
    if len(index) > settings.block_cap and settings.kernel.is_shift_invariant and not is_sparse(X):
        order = kd_order(X)  # what is far is skipped by tiles of neighbours
    with_bias = settings.fit_intercept
    solver = RowsSolver(settings, X[order], dual[order])
    start: dict[str, Any] = {"beta": None if beta is None else beta[order]}
    if beta is not None and f is not None:
        start["gradient"] = dual.gradient(f, beta)[order]
    solution = solver.solve(**start, equality=with_bias, tol=tol)
    found = np.empty(len(index))
    found[order] = solution.beta
    own = bias(solution.gradient, solution.beta, solver.dual) if with_bias else 0.0
    record = SolvedRecord.of(
        solver.dual, solution, bias=own, equality=with_bias, kernel_values=solver.kernel_values
    )
    return found, record.to_json()
