"""The machines of all pairs of classes solved in this process, with all rows in memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.fit_tasks import FitTasks
from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.kernels import Rows
from dcsvm_dask.solvers import SolvedMachine, machines_of, solve_machines

# A solver holds so many float32 matrices of its working set's rows.
MATRICES = 1.57
LEAST_SET = 256
# Part of the memory that is for kernel values which pairs of classes share.
SHARED = 0.25


def solved(
    estimator: Any,
    X: Rows,
    codes: NDArray[np.int32],
    variables: Variables,
    alpha: NDArray[np.float64] | None,
    tasks: FitTasks,
) -> list[SolvedMachine]:
    """Return the machines that a `DCSVC` describes, solved from `alpha` as `solve_machines`."""
    threads = checking.threads_of(estimator.n_jobs)
    machines = machines_of(len(estimator.classes_))
    memory = estimator.cache_size * 1e6
    shared = SHARED * memory if len(machines) > 1 else 0.0
    with threadpool_limits(1):
        return solve_machines(
            estimator._kernel,
            X[variables.rows],
            codes[variables.rows],
            variables.C,
            machines,
            equality=bool(estimator.fit_intercept),
            tol=checking.tolerance(estimator.tol),
            working_size=working_size((memory - shared) / min(threads, len(machines))),
            max_iter=checking.most_steps(estimator.max_iter, -1),
            seed=checking.seed_of(estimator.random_state),
            threads=threads,
            most_shared=shared,
            alpha=alpha,
            within=tasks.machine,
        )


def working_size(memory: float) -> int:
    """Return how many rows a working set may have whose matrices take so many bytes."""
    return max(LEAST_SET, math.isqrt(int(memory / (4 * MATRICES))))
