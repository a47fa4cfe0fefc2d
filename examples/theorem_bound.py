"""How far a level is from the best solution, beside the bounds of Theorems 1 and 3 (Figure 1).

Hsieh, Si and Dhillon (ICML 2014): with blocks solved one by one, f(level) - f(best) is at most
C^2 D(pi) / 2, where D(pi) is the kernel mass between blocks; Theorem 3 keeps the sum to rows that
are support vectors of either solution. This script measures both sides on the first rows of
covtype, for partitions that were chosen and for random ones.

    python examples/theorem_bound.py --data covtype.npz --rows 10000 --C 32 --gamma 32

The file is a NumPy archive with X_train and y_train (labels -1 and +1). The kernel matrix of all
rows is in memory: 400 MB for 10,000 rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import choose_partition, partition_quality, theorem_bound
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import duality_gap, solve_smo
from dcsvm_dask.tasks import svc_dual

COVTYPE = Path(__file__).resolve().parents[2] / "shared" / "data" / "covtype.npz"


@dataclass(frozen=True, slots=True)
class Measured:
    """Both sides of the theorems for one partition."""

    n_clusters: int
    partition: str
    share_between: float
    difference: float
    """f(level) - f(best), of solutions that are themselves optimal but for `slack`."""
    theorem1: float
    theorem3: float
    slack: float
    """Duality gaps of the best solution and of the blocks' solutions together."""


def read_rows(path: str, n_rows: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the first rows of a seeded permutation, each feature scaled to [0, 1] over all."""
    with np.load(path) as data:
        X, y = data["X_train"], data["y_train"]
    low, high = X.min(axis=0), X.max(axis=0)
    rows = np.random.default_rng(0).permutation(len(X))[:n_rows]
    X = (X[rows] - low) / np.where(high > low, high - low, 1)
    return X.astype(np.float32), y[rows].astype(np.float64)


def measure(
    kernel: Kernel, X: Any, y: NDArray[np.float64], C: float, clusters: list[int], tol: float = 1e-3
) -> Iterator[Measured]:
    """Solve the whole problem, then the blocks of one partition after the other."""
    n = X.shape[0]
    K = kernel_matrix(kernel, X)
    dual = svc_dual(y, C)
    best = solve_smo(K, dual, tol=tol)
    rng = np.random.default_rng(0)
    for k in clusters:
        chosen, _ = choose_partition(kernel, X, n_clusters=k, n_rows=n, cap=n, seed=0)
        for name, labels in (("chosen", chosen.assign(X)), ("random", rng.integers(0, k, n))):
            beta, slack = np.zeros(n), duality_gap(best.gradient, best.beta, dual)
            for block in np.unique(labels):
                own = np.flatnonzero(labels == block)
                solution = solve_smo(K[np.ix_(own, own)], dual[own], tol=tol)
                beta[own] = solution.beta
                slack += duality_gap(solution.gradient, solution.beta, dual[own])
            support = np.flatnonzero(beta)
            f = 0.5 * beta[support] @ (K[np.ix_(support, support)] @ beta[support]) + dual.p @ beta
            union = (beta != 0) | (best.beta != 0)
            mass = partition_quality(kernel, X, labels)
            yield Measured(
                k,
                name,
                mass.share,
                float(f - best.objective),
                0.5 * C**2 * mass.between,
                theorem_bound(kernel, X, labels, C, support=union),
                slack,
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=str(COVTYPE), help="archive with X_train and y_train")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--C", type=float, default=32.0)
    parser.add_argument("--gamma", type=float, default=32.0)
    parser.add_argument("--clusters", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    options = parser.parse_args()
    if not Path(options.data).exists():
        parser.error(f"{options.data} does not exist; give --data, an archive with covtype.")
    X, y = read_rows(options.data, options.rows)
    kernel = Kernel("rbf", options.gamma)
    print(f"{len(y):,} rows, C = {options.C:g}, gamma = {options.gamma:g}")
    print(f"{'k':>4} {'blocks':8} {'mass between':>12} {'f(level) - f(best)':>19}", end="")
    print(f" {'Theorem 3':>10} {'Theorem 1':>10}")
    for row in measure(kernel, X, y, options.C, options.clusters):
        print(
            f"{row.n_clusters:4d} {row.partition:8} {row.share_between:12.2%}"
            f" {row.difference:19.4g} {row.theorem3:10.3g} {row.theorem1:10.3g}"
        )


if __name__ == "__main__":
    main()
