"""SVMs of pairs of classes by a few kernel rows each, computed when a step first asks for them.

Classes that lie apart have few support vectors a pair, whose kernel rows are far fewer values than
a kernel matrix of all rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.kernels.row_by_row import KernelRows
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.pair_row_loops import room_for, solve_pairs_by_rows
from dcsvm_dask.solvers.pair_variables import LARGEST, Pair, PairVariables, Solved, of_few_rows

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

MOST_ROWS = 3072
"""Rows of such a pair, at most."""
FEWEST_ROWS = 1024
"""Up to so many rows of all classes one matrix is as soon there, and less has to be compiled."""
MOST_SHARE = 0.4
"""Share of the rows of a pair that may be asked for, at most."""
VALUE, OF_FEATURE = 3.0, 0.15
"""Nanoseconds of a kernel value of a matrix, and of a feature of one that is asked for."""
ALL_UP_TO = 1024
"""Pairs of so many rows may ask for all of them, where others of their problem need few."""
LEAST_SHARE = 0.1
"""Where features are so many that fewer rows than this share would have to do, none are tried."""
SAMPLE, MOST_FAIL = 16, 0.5
"""Pairs that are tried first, and the share of them that may be left to another solver: beyond,
the others are not tried."""


def solve_pairs_on_demand(
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.integer],
    C: Vector,
    pairs: list[Pair],
    *,
    tol: float = 1e-3,
    threads: int = 1,
) -> Solved:
    """Solve the C-SVCs, with a bias, of those pairs of classes that few kernel rows are enough for.

    Parameters
    ----------
    kernel, X, codes, C, pairs, tol, threads
        As for `solve_small_pairs`.

    Returns
    -------
    dict
        The rows, ascending, and the solution of each pair that was solved: pairs of larger classes,
        or of a class without rows, are missing, and such as need more rows or steps.
    """
    chosen, share = suitable(X, codes, pairs), _share(X.shape[1])
    if not chosen:
        return {}
    variables = PairVariables(codes, chosen)
    rows = KernelRows(kernel, X[variables.rows], 0)
    bounds = C[variables.rows]
    if not rows.diagonal.max() < LARGEST:
        return {}
    largest = variables.largest
    # Pages that no row has reached take no memory.
    most = max(room_for(largest, share) * largest, min(largest, ALL_UP_TO) ** 2)
    memory = MatrixMemory(1 + math.isqrt(most), np.float64)

    def solved(share: float, numbers: Index) -> Solved:
        def solve(of_pairs: Index, *written: Vector) -> None:
            room = memory.take()
            solve_pairs_by_rows(
                *rows.what_computes,
                *(bounds, variables.start, of_pairs, tol, share, room, *written),
            )
            memory.give_back(room)

        return variables.solve(solve, threads, numbers=numbers).c_svcs(tol)

    sample = np.unique(np.linspace(0, len(chosen) - 1, SAMPLE).astype(np.int64))
    found = solved(share, sample)
    if len(found) < (1.0 - MOST_FAIL) * len(sample):
        return found
    left = np.array([pair not in found for pair in chosen])
    small = variables.sizes <= ALL_UP_TO
    found |= solved(1.0, np.flatnonzero(left & small))
    left[sample] = False
    return found | solved(share, np.flatnonzero(left & ~small))


def suitable(X: Rows, codes: NDArray[np.integer], pairs: list[Pair]) -> list[Pair]:
    """Return the pairs that are tried, none of few rows in all or where features are too many.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    codes : ndarray, shape (n,), integers
        The class of each row.
    pairs : list of (int, int)
    """
    n, d = X.shape
    if n <= FEWEST_ROWS or _share(d) < LEAST_SHARE:
        return []
    chosen = of_few_rows(codes, pairs, MOST_ROWS)
    return chosen if len(chosen) > 1 else []


def _share(features: int) -> float:
    """Return at most which share of the rows of a pair may be asked for."""
    return min(MOST_SHARE, VALUE / (VALUE + OF_FEATURE * features))
