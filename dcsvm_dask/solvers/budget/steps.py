"""Compiled steps of stochastic gradient descent on a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.kinds import L1_DISTANCE, SQUARED_DISTANCE
from dcsvm_dask.kernels.values import to_values
from dcsvm_dask.solvers.budget.arguments import of_dense, of_sparse
from dcsvm_dask.solvers.budget.cycles import cycles
from dcsvm_dask.solvers.budget.merging import maintain, padded
from dcsvm_dask.solvers.budget.state import SIZE, STEPS, VALUES, VIOLATIONS
from dcsvm_dask.solvers.budget.tables import INNER, OPTIONS


@njit(**OPTIONS)
def descend(
    S: Any,
    code: Any,
    rows: Any,
    order: Any,
    dual: Any,
    total: Any,
    with_bias: Any,
    budget: Any,
    how: Any,
    tables: Any,
    audit: Any,
) -> Any:
    """Take a step for each row, in the order that is given; return -1.

    Or the row whose decision value is not finite, before its step.

    The step of row i at time t is w <- (1 - 1 / t) w + n beta_i / t phi(x_i), with beta_i the
    negative subgradient of its loss C_i l(f_i), which lies within the bounds of its dual variable
    (Pegasos: Shalev-Shwartz et al. 2007, with lambda = 1 / (n C)).

    Parameters
    ----------
    S : Expansion
        Changed in place.
    code : KernelCode
    rows : RowArrays
    order : ndarray, shape (steps,), int64
        Numbers of rows.
    dual : tuple of ndarray
        p, lower, upper and epsilon of the rows, each of shape (n,), float64; see `Dual`.
    total : float
        Rows n of the whole problem.
    with_bias : bool
        Whether there is a bias, which is a weight like the others.
    budget : int
        Most support vectors.
    how : int
        What happens with one too many; see `merging`.
    tables : tuple of ndarray
        h and wd.
    audit : bool
        Whether merges are compared with those by golden section search.
    """
    p, lower, upper, epsilon = dual
    began = cycles()
    work = np.zeros((3, S.points.shape[1]), np.float32)
    for row in order:
        if lower[row] == 0.0 and upper[row] == 0.0:  # of neither class of this SVM
            S.counts[STEPS] += 1
            continue
        f = decision(S, code, rows, row, work)
        if not np.isfinite(f):
            return row
        S.counts[STEPS] += 1
        slope = f + p[row]
        if slope < -epsilon[row]:
            step = upper[row] * total
        elif slope > epsilon[row]:
            step = lower[row] * total
        else:
            continue
        if step == 0.0:
            continue
        S.counts[VIOLATIONS] += 1
        _insert(S, code, rows, row, step, work[0])
        if with_bias:
            S.bias[0] += step
        if S.counts[SIZE] > budget:
            before = cycles()
            maintain(S, code, how, tables, audit, work)
            S.cycles[1] += cycles() - before
    S.cycles[0] += cycles() - began
    return -1


@njit(**INNER)
def decision(S: Any, code: Any, rows: Any, row: Any, work: Any) -> Any:
    """Return the decision value of a row; its kernel values are in the first row of `work`."""
    steps = S.counts[STEPS]
    if steps == 0:
        return 0.0
    width = padded(S.counts[SIZE])
    S.counts[VALUES] += S.counts[SIZE]
    kernel_row(S, code, rows, row, width, work)
    total = S.bias[0]
    K = work[0]
    for j in range(width):
        total += S.coef[j] * K[j]
    return total / steps


@njit(**INNER)
def kernel_row(S: Any, code: Any, rows: Any, row: Any, width: Any, work: Any) -> None:
    """Write the kernel values of a row with all support vectors."""
    if rows.sparse:
        start, stop = rows.indptr[row], rows.indptr[row + 1]
        indices, data = rows.indices[start:stop], rows.data[start:stop]
        of_sparse(S.points, S.norms, indices, data, code.argument, width, work[0])
    else:
        of_dense(S.points, rows.dense[row], code.argument, width, work[0])
    to_values(
        work[0:1, :width],
        code.function,
        code.scale,
        code.degree,
        code.coef0,
        work[2, :width],
        work[2, :1],
    )


@njit(**INNER)
def _insert(S: Any, code: Any, rows: Any, row: Any, step: Any, K: Any) -> None:
    """Add a row as a support vector; K has its kernel values with the others."""
    size = S.counts[SIZE]
    norm, own = 0.0, 0.0
    if rows.sparse:
        S.points[:, size] = 0
        for k in range(rows.indptr[row], rows.indptr[row + 1]):
            value = rows.data[k]
            S.points[rows.indices[k], size] = value
            norm += abs(value) if code.argument == L1_DISTANCE else np.float64(value) * value
    else:
        for f in range(S.points.shape[0]):
            value = rows.dense[row, f]
            S.points[f, size] = value
            norm += abs(value) if code.argument == L1_DISTANCE else np.float64(value) * value
    distance = code.argument == L1_DISTANCE or code.argument == SQUARED_DISTANCE
    S.norms[size] = norm if distance else 0.0
    S.coef[size] = step
    if S.values.shape[0]:
        for j in range(size):
            S.values[size, j] = S.values[j, size] = K[j]
        own = _diagonal(code, norm) if not distance else 1.0
        S.values[size, size] = own
    S.counts[SIZE] = size + 1


@njit(**INNER)
def _diagonal(code: Any, norm: Any) -> Any:
    """Return the kernel value of a row with itself, from its squared norm."""
    T = np.full((1, 1), norm, np.float32)
    none = np.zeros(1, np.float32)
    to_values(T, code.function, code.scale, code.degree, code.coef0, none, none)
    return np.float64(T[0, 0])


@njit(**OPTIONS)
def shrink(S: Any, code: Any, budget: Any, how: Any, tables: Any) -> None:
    """Bring an expansion within a budget."""
    work = np.zeros((3, S.points.shape[1]), np.float32)
    while S.counts[SIZE] > budget:
        maintain(S, code, how, tables, False, work)
