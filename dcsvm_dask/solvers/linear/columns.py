"""How compiled code walks along one column of X, which is a row of its transpose, dense or CSR.

For p from ``first(columns, j)`` up to ``end(columns, j)``, the value ``value(columns, j, p)`` is
that of the row ``row(columns, j, p)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from scipy import sparse

from dcsvm_dask.kernels import Rows, is_sparse

_u = np.uintp


def columns_of(X: Rows, constant: float) -> Rows:
    """Return X transposed, in rows, with a last one of the constant where that is not 0."""
    if is_sparse(X):
        found = sparse.csr_array(X.T)
        if constant:
            last = sparse.csr_array(np.full((1, X.shape[0]), constant, X.dtype))
            found = sparse.csr_array(sparse.vstack([found, last]))
        return found
    found = np.empty((X.shape[1] + (constant != 0.0), X.shape[0]), X.dtype)
    found[: X.shape[1]] = X.T
    found[X.shape[1] :] = constant
    return found


def first(columns: Any, j: Any) -> Any:
    """Return where column j begins; in compiled code only."""
    raise NotImplementedError("first exists in compiled code only")


def end(columns: Any, j: Any) -> Any:
    """Return where column j ends; in compiled code only."""
    raise NotImplementedError("end exists in compiled code only")


def row(columns: Any, j: Any, p: Any) -> Any:
    """Return the row of a value of column j; in compiled code only."""
    raise NotImplementedError("row exists in compiled code only")


def value(columns: Any, j: Any, p: Any) -> Any:
    """Return a value of column j; in compiled code only."""
    raise NotImplementedError("value exists in compiled code only")


def _first_dense(columns: Any, j: Any) -> Any:  # noqa: ARG001
    return _u(0)


def _first_csr(columns: Any, j: Any) -> Any:
    return _u(columns[2][j])


def _end_dense(columns: Any, j: Any) -> Any:  # noqa: ARG001
    return _u(columns.shape[1])


def _end_csr(columns: Any, j: Any) -> Any:
    return _u(columns[2][j + _u(1)])


def _row_dense(columns: Any, j: Any, p: Any) -> Any:  # noqa: ARG001
    return p


def _row_csr(columns: Any, j: Any, p: Any) -> Any:  # noqa: ARG001
    return _u(columns[1][p])


def _value_dense(columns: Any, j: Any, p: Any) -> Any:
    return np.float64(columns[j, p])


def _value_csr(columns: Any, j: Any, p: Any) -> Any:  # noqa: ARG001
    return np.float64(columns[0][p])


@overload(first)
def _first(columns: Any, j: Any) -> Callable[..., Any]:  # noqa: ARG001 (Numba's protocol)
    return _first_dense if isinstance(columns, types.Array) else _first_csr


@overload(end)
def _end(columns: Any, j: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _end_dense if isinstance(columns, types.Array) else _end_csr


@overload(row)
def _row(columns: Any, j: Any, p: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _row_dense if isinstance(columns, types.Array) else _row_csr


@overload(value)
def _value(columns: Any, j: Any, p: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _value_dense if isinstance(columns, types.Array) else _value_csr
