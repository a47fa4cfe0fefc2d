"""Solving some rows of the problem, whatever their number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, counted_kernel_matrix
from dcsvm_dask.solvers import Solution, solve_decomposition, solve_smo
from dcsvm_dask.solvers.divide import NEGLIGIBLE
from dcsvm_dask.steps.settings import Settings

Vector = NDArray[np.float64]

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

    def __init__(self, settings: Settings, X: Rows, y: Vector, C: Vector) -> None:
        self.y, self.C = y, C
        self.kernel_values = 0
        self._settings, self._X = settings, X
        self._K: NDArray[np.floating] | None = None
        self.in_memory = len(y) <= settings.block_cap
        if self.in_memory:
            self._K, self.kernel_values = counted_kernel_matrix(
                settings.kernel, X, least=NEGLIGIBLE
            )

    def solve(
        self,
        *,
        alpha: Vector | None,
        tol: float,
        p: Vector | None = None,
        gradient: Vector | None = None,
        equality: bool = False,
    ) -> Solution:
        """Solve it, as `solve_smo` does."""
        start: dict[str, Any] = {
            "p": p,
            "alpha": alpha,
            "gradient": gradient,
            "equality": equality,
            "tol": tol,
        }
        if self._K is not None:
            return solve_smo(self._K, self.y, self.C, **start)
        solution, values = solve_decomposition(
            self._settings.kernel,
            self._X,
            self.y,
            self.C,
            **start,
            working_size=self._settings.block_cap,
            budget=FAR_PAIRS * tol,
            # Levels are only starts, and of a round's step no more is believed than what it brings.
            verify=False,
        )
        self.kernel_values += values
        return solution
