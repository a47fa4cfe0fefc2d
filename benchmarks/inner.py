"""Seconds of the inner solvers on one working set, side by side.

    python -m benchmarks.inner [--quick] [--rows 4000] [--sets ijcnn1,mv] [--costs 1,100,1e4]
                               [--solvers auto,smo,newton,interior-point,projected-gradient]
    python -m benchmarks.inner --working-sets

A working set of so many rows, drawn at random, its kernel matrix in float32 in memory, with a bias,
to the tolerance 1e-3, on one thread as workers have it: seconds of the processor, steps, and how
far the objective is from the best of all solvers. A solver that does not converge is ended by SMO
(it reads "+ smo"). With ``--working-sets``: how many working sets of 256, 512 and 1,024 rows
decomposition needs by the interior point method (Brugger 2006, Table 1). Writes ``inner.json``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import SHARED
from benchmarks.runs import write
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import INNER_SOLVERS, solve_decomposition, solve_inner
from dcsvm_dask.tasks import Dual

Figures = dict[str, Any]
GAMMAS = {"ijcnn1": 2.0, "a9a": 2.0**-7, "mnist": 0.02, "covtype": 1.0, "mv": 0.1, "kin40k": 0.125}
"""The sets and their gamma; features are standardised, mnist's divided by 255."""
SETS, TARGETS = ("ijcnn1", "a9a", "mnist", "covtype", "mv"), ("mv", "kin40k")
EPSILON, TOL, DIGIT = 0.1, 1e-3, 8
SIZES, TABLE_ROWS, TABLE_C = (256, 512, 1024), 10_000, 10.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="1,000 rows of two sets")
    options.add_argument("--rows", type=int, default=4000)
    options.add_argument("--sets", default=",".join(SETS), help=f"of {', '.join(GAMMAS)}")
    options.add_argument("--costs", default="1,100,1e4", help="values of C")
    options.add_argument("--solvers", default=",".join(INNER_SOLVERS))
    options.add_argument("--working-sets", action="store_true", help="Brugger's Table 1")
    options.add_argument("--out", type=Path, default=Path("inner.json"))
    chosen = options.parse_args()
    rows = 1000 if chosen.quick else chosen.rows
    sets = ("ijcnn1", "mv") if chosen.quick else chosen.sets.split(",")
    with threadpool_limits(1):
        for name in ("ijcnn1", "mv"):  # compiled, or loaded, before any clock runs
            warm = problem(name, 200, 1.0)
            solve_inner(kernel_matrix(*warm[:2]), warm[2], equality=True)
        if chosen.working_sets:
            found = table_of_working_sets(2000 if chosen.quick else TABLE_ROWS)
        else:
            costs = [float(C) for C in chosen.costs.split(",")]
            found = [
                one
                for name in sets
                for C in costs
                for one in compare(name, rows, C, chosen.solvers.split(","))
            ]
    write(chosen.out, {"solved": found})
    return 0


def problem(name: str, rows: int, C: float) -> tuple[Kernel, np.ndarray, Dual]:
    """Return some rows of a set and their dual problem."""
    found = np.load(SHARED / f"{name}.npz")
    order = np.random.default_rng(0).permutation(len(found["X_train"]))[:rows]
    X, y = found["X_train"][order].astype(np.float64), found["y_train"][order].astype(np.float64)
    if name == "mnist":
        X, y = X / 255.0, np.where(y == DIGIT, 1.0, -1.0)
    elif name not in ("ijcnn1", "a9a"):
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    X = np.ascontiguousarray(X, dtype=np.float32)
    kernel, n = Kernel(gamma=GAMMAS[name]), len(y)
    if name in TARGETS:
        y = (y - y.mean()) / y.std()
        return kernel, X, Dual(-y, np.full(n, -C), np.full(n, C), np.full(n, EPSILON))
    y = np.where(y == y.max(), 1.0, -1.0)
    return kernel, X, Dual(-y, np.where(y > 0.0, 0.0, -C), np.where(y > 0.0, C, 0.0))


def compare(name: str, rows: int, C: float, solvers: list[str]) -> list[Figures]:
    """Solve one working set by every solver."""
    kernel, X, dual = problem(name, rows, C)
    K = kernel_matrix(kernel, X, dtype=np.float32)
    found: list[Figures] = []
    for inner in solvers:
        begin = time.process_time()
        solution = solve_inner(K, dual, inner=inner, equality=True, tol=TOL)
        one = {"set": name, "rows": len(dual), "C": C, "solver": inner}
        one |= {"seconds": time.process_time() - begin, "steps": solution.n_iter}
        one |= {"by": " + ".join(solution.inner), "converged": solution.converged}
        found.append(one | {"objective": solution.objective})
    best = min(one["objective"] for one in found)
    for one in found:
        one["above_best"] = (one["objective"] - best) / abs(best)
        print(
            f"{one['set']:8} C {one['C']:<7g} {one['solver']:18} {one['seconds']:8.3f} s "
            f"{one['steps']:9,} steps  {one['above_best']:.1e} above  "
            f"{one['by']}{'' if one['converged'] else ', not converged'}",
            flush=True,
        )
    return found


def table_of_working_sets(rows: int) -> list[Figures]:
    """Count the working sets of decomposition by the interior point method."""
    kernel, X, dual = problem("mnist", rows, TABLE_C)
    found: list[Figures] = []
    for size in SIZES:
        sets: list[float] = []

        def count(_: int, violation: float, sets: list[float] = sets) -> None:
            sets.append(violation)

        begin = time.process_time()
        solution, _ = solve_decomposition(
            kernel,
            X,
            dual,
            equality=True,
            tol=TOL,
            working_size=size,
            inner="interior-point",
            callback=count,
        )
        one = {"rows": rows, "size": size, "sets": len(sets), "converged": solution.converged}
        found.append(one | {"seconds": time.process_time() - begin})
        print(f"working sets of {size:5,} rows: {len(sets):4}, {found[-1]['seconds']:.1f} s")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
