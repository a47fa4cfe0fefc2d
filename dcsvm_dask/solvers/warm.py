"""Compiling every solver at a known moment."""

from __future__ import annotations

import numpy as np
from scipy import sparse as scipy_sparse

from dcsvm_dask.kernels import ColumnCache, Kernel
from dcsvm_dask.solvers.box_qp import solve_box_qp
from dcsvm_dask.solvers.budget.learner import BudgetedLearner
from dcsvm_dask.solvers.cutting import solve_cutting
from dcsvm_dask.solvers.linear.crammer_singer import solve_crammer_singer
from dcsvm_dask.solvers.linear.solve import solve_linear, solve_linear_dual
from dcsvm_dask.solvers.linear.zeros import count_values, take_values
from dcsvm_dask.solvers.on_demand import solve_on_demand
from dcsvm_dask.solvers.online.solve import solve_online
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.active import ActiveSet
from dcsvm_dask.solvers.smo.solve import solve_smo
from dcsvm_dask.tasks import Regression, svc_dual


def warm_up_steps(*, equality: bool, kinks: bool = False) -> None:
    """Compile, or load from the cache, what solves problems whose kernel matrix is in float32.

    Parameters
    ----------
    equality : bool
        Whether for problems with a sum, which a bias has.
    kinks : bool, default False
        Whether for problems with kinks, as epsilon-SVR has them.
    """
    targets = np.array([1.0, -1.0, 1.0, -1.0])
    dual = Regression(0.1).dual(targets, np.ones(4)) if kinks else svc_dual(targets, 1.0)
    K = np.eye(4, dtype=np.float32)
    solve_smo(K, dual, equality=equality)
    problem = QuadraticProgram.of(4, dual, None, None, False)
    active = ActiveSet(K, np.ones(4, np.float32), problem)
    # Far more steps than rows: the one row whose gradient is small is worth copying.
    active.begin(np.zeros(4), np.array([0.0, -5.0, 5.0, -5.0]), 0.0, 1.0, 1_000)
    active.narrow(np.zeros(4), -1.0, 1_000)
    solve_box_qp(np.eye(1), np.zeros(1))


def warm_up_online() -> None:
    """Compile, or load from the cache, the compiled functions of the online solver."""
    X, y = np.eye(16, dtype=np.float32), np.tile([1.0, -1.0], 8)
    # So small a cache that kernel rows have to be made again.
    solve_online(Kernel("rbf"), X, y, 1.0, passes=2, cache_bytes=1)


def warm_up_parallel(*, sparse: bool) -> None:
    """Compile, or load from the cache, products with kept kernel columns, of distances.

    Parameters
    ----------
    sparse : bool
        Whether of CSR rows.
    """
    X = np.eye(2, dtype=np.float32)
    rows = scipy_sparse.csr_array(X) if sparse else X
    ColumnCache(Kernel("rbf"), rows, 0).product(np.arange(2), rows, np.ones(2))


def warm_up_on_demand() -> None:
    """Compile, or load from the cache, what solves problems with a bias by single kernel rows."""
    y = np.tile([1.0, -1.0], 16)
    solve_on_demand(Kernel("rbf"), y.astype(np.float32)[:, None], svc_dual(y, 1.0))


def warm_up_budget() -> None:
    """Compile, or load from the cache, descent on a budget of support vectors."""
    X, y = np.eye(8, dtype=np.float32), np.tile([1.0, -1.0], 4)
    dual = svc_dual(y, 1.0)
    learner = BudgetedLearner(Kernel("rbf"), 8, 2)
    for rows in (X, scipy_sparse.csr_array(X)):
        learner.learn(rows, dual, np.arange(8), total=8)
    learner.shrink()


def warm_up_linear() -> None:
    """Compile, or load from the cache, the compiled functions of the solver of linear SVMs.

    For rows in float32, dense or CSR with int32 indices. Others compile when they first come:
    float64, int64 indices, and arrays that may not be written to.
    """
    X, y = np.eye(2, dtype=np.float32), np.array([1.0, -1.0])
    for rows in (X, scipy_sparse.csr_array(X)):
        solve_linear(rows, y, 1.0)
    count_values(X, np.zeros(3, np.int64))
    take_values(X, np.empty(3, np.float32), np.empty(3, np.int32))


def warm_up_linear_dual() -> None:
    """Compile, or load from the cache, the solver of linear SVMs of tasks without classes.

    For rows as `warm_up_linear` does.
    """
    X = np.eye(2, dtype=np.float32)
    dual = Regression(epsilon=0.1).dual(np.array([1.0, -1.0]), np.ones(2))
    for rows in (X, scipy_sparse.csr_array(X)):
        solve_linear_dual((rows,), dual)


def warm_up_free_bias() -> None:
    """Compile, or load from the cache, what a free bias needs beside; for rows as above."""
    X = np.eye(2, dtype=np.float32)
    for rows in (X, scipy_sparse.csr_array(X)):
        solve_linear(rows, [1.0, -1.0], 1.0, bias="free")


def warm_up_cutting() -> None:
    """Compile, or load from the cache, the products of cutting planes; for rows as above."""
    X = np.eye(2, dtype=np.float32)
    for rows in (X, scipy_sparse.csr_array(X)):
        solve_cutting(rows, svc_dual([1.0, -1.0], 1.0), max_iter=2)


def warm_up_classes() -> None:
    """Compile, or load from the cache, the solver of Crammer and Singer; for rows as above."""
    X = np.eye(3, dtype=np.float32)
    for rows in (X, scipy_sparse.csr_array(X)):
        solve_crammer_singer(rows, np.arange(3), 1.0, 3)
