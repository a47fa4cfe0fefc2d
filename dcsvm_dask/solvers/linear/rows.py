"""What compiled passes do with one row, dense or in CSR: inner product, sum, fetching ahead.

Rows come as an array (n, d), or as the three arrays of CSR: (data, indices, indptr). Products and
sums are float64 whatever the rows are. Unsigned indices spare the test for negative ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from dcsvm_dask.kernels import Rows, is_sparse

_u = np.uintp
_FLAGS = {"contract", "reassoc", "nsz"}
# A cache line holds so many float32 values; of a long row the first lines are fetched, the rest
# comes in order and the processor sees it coming.
_LINE, _FETCHED = 16, 256


def compiled_rows(X: Rows) -> Any:
    """Return checked rows as compiled code takes them; indptr is int64, for one kind less."""
    return (X.data, X.indices, X.indptr.astype(np.int64, copy=False)) if is_sparse(X) else X


def dot(rows: Any, i: Any, w: Any) -> Any:
    """Return x_i'w; in compiled code only. w may have more values than there are features."""
    raise NotImplementedError("dot exists in compiled code only")


def add(rows: Any, i: Any, step: Any, w: Any) -> Any:
    """Add step x_i to w; in compiled code only."""
    raise NotImplementedError("add exists in compiled code only")


def add_four(rows: Any, these: Any, steps: Any, w: Any) -> Any:
    """Add the sum of steps_j x_j over four rows to w, so that w is met once; in compiled code."""
    raise NotImplementedError("add_four exists in compiled code only")


def add_squares(rows: Any, i: Any, step: Any, total: Any) -> Any:
    """Add step x_i^2 to total, a feature each; in compiled code only."""
    raise NotImplementedError("add_squares exists in compiled code only")


def dots(rows: Any, i: Any, W: Any, found: Any) -> Any:
    """Write W'x_i to found, W with a row a feature; in compiled code only."""
    raise NotImplementedError("dots exists in compiled code only")


def adds(rows: Any, i: Any, steps: Any, W: Any) -> Any:
    """Add x_i steps' to W; in compiled code only."""
    raise NotImplementedError("adds exists in compiled code only")


def square(rows: Any, i: Any) -> Any:
    """Return x_i'x_i; in compiled code only."""
    raise NotImplementedError("square exists in compiled code only")


def fetch(rows: Any, i: Any) -> Any:
    """Have x_i brought into the cache while work goes on; in compiled code only.

    Rows are visited in random order, which no hardware prefetcher follows: this halves the time.
    """
    raise NotImplementedError("fetch exists in compiled code only")


@overload(dot, jit_options={"fastmath": _FLAGS})
def _dot(rows: Any, i: Any, w: Any) -> Callable[..., Any]:  # noqa: ARG001 (Numba's protocol)
    return _dot_dense if isinstance(rows, types.Array) else _dot_csr


def _dot_dense(rows: Any, i: Any, w: Any) -> Any:
    total = 0.0
    for f in range(_u(rows.shape[1])):
        total += np.float64(rows[i, f]) * w[f]
    return total


def _dot_csr(rows: Any, i: Any, w: Any) -> Any:
    data, indices, indptr = rows
    total = 0.0
    for p in range(_u(indptr[i]), _u(indptr[i + _u(1)])):
        total += np.float64(data[p]) * w[_u(indices[p])]
    return total


@overload(add, jit_options={"fastmath": _FLAGS})
def _add(rows: Any, i: Any, step: Any, w: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _add_dense if isinstance(rows, types.Array) else _add_csr


def _add_dense(rows: Any, i: Any, step: Any, w: Any) -> Any:
    for f in range(_u(rows.shape[1])):
        w[f] += step * np.float64(rows[i, f])


def _add_csr(rows: Any, i: Any, step: Any, w: Any) -> Any:
    data, indices, indptr = rows
    for p in range(_u(indptr[i]), _u(indptr[i + _u(1)])):
        w[_u(indices[p])] += step * np.float64(data[p])


@overload(add_four, jit_options={"fastmath": _FLAGS})
def _add_four(rows: Any, these: Any, steps: Any, w: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _add_four_dense if isinstance(rows, types.Array) else _add_four_csr


def _add_four_dense(rows: Any, these: Any, steps: Any, w: Any) -> Any:
    i, j, k, m = these
    a, b, c, d = steps
    for f in range(_u(rows.shape[1])):
        pair = a * np.float64(rows[i, f]) + b * np.float64(rows[j, f])
        w[f] += pair + (c * np.float64(rows[k, f]) + d * np.float64(rows[m, f]))


def _add_four_csr(rows: Any, these: Any, steps: Any, w: Any) -> Any:
    for t in range(4):
        add(rows, these[t], steps[t], w)


@overload(add_squares, jit_options={"fastmath": _FLAGS})
def _add_squares(rows: Any, i: Any, step: Any, total: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _add_squares_dense if isinstance(rows, types.Array) else _add_squares_csr


def _add_squares_dense(rows: Any, i: Any, step: Any, total: Any) -> Any:
    for f in range(_u(rows.shape[1])):
        total[f] += step * np.float64(rows[i, f]) * np.float64(rows[i, f])


def _add_squares_csr(rows: Any, i: Any, step: Any, total: Any) -> Any:
    data, indices, indptr = rows
    for p in range(_u(indptr[i]), _u(indptr[i + _u(1)])):
        total[_u(indices[p])] += step * np.float64(data[p]) * np.float64(data[p])


@overload(dots, jit_options={"fastmath": _FLAGS})
def _dots(rows: Any, i: Any, W: Any, found: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _dots_dense if isinstance(rows, types.Array) else _dots_csr


def _dots_dense(rows: Any, i: Any, W: Any, found: Any) -> Any:
    found[:] = 0.0
    for f in range(_u(rows.shape[1])):
        x = np.float64(rows[i, f])
        if x != 0.0:
            for m in range(_u(found.shape[0])):
                found[m] += x * W[f, m]


def _dots_csr(rows: Any, i: Any, W: Any, found: Any) -> Any:
    data, indices, indptr = rows
    found[:] = 0.0
    for p in range(_u(indptr[i]), _u(indptr[i + _u(1)])):
        x, f = np.float64(data[p]), _u(indices[p])
        for m in range(_u(found.shape[0])):
            found[m] += x * W[f, m]


@overload(adds, jit_options={"fastmath": _FLAGS})
def _adds(rows: Any, i: Any, steps: Any, W: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _adds_dense if isinstance(rows, types.Array) else _adds_csr


def _adds_dense(rows: Any, i: Any, steps: Any, W: Any) -> Any:
    for f in range(_u(rows.shape[1])):
        x = np.float64(rows[i, f])
        if x != 0.0:
            for m in range(_u(steps.shape[0])):
                W[f, m] += x * steps[m]


def _adds_csr(rows: Any, i: Any, steps: Any, W: Any) -> Any:
    data, indices, indptr = rows
    for p in range(_u(indptr[i]), _u(indptr[i + _u(1)])):
        x, f = np.float64(data[p]), _u(indices[p])
        for m in range(_u(steps.shape[0])):
            W[f, m] += x * steps[m]


@overload(square, jit_options={"fastmath": _FLAGS})
def _square(rows: Any, i: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _square_dense if isinstance(rows, types.Array) else _square_csr


def _square_dense(rows: Any, i: Any) -> Any:
    total = 0.0
    for f in range(_u(rows.shape[1])):
        total += np.float64(rows[i, f]) * np.float64(rows[i, f])
    return total


def _square_csr(rows: Any, i: Any) -> Any:
    data, _, indptr = rows
    total = 0.0
    for p in range(_u(indptr[i]), _u(indptr[i + _u(1)])):
        total += np.float64(data[p]) * np.float64(data[p])
    return total


@overload(fetch)
def _fetch(rows: Any, i: Any) -> Callable[..., Any]:  # noqa: ARG001
    return _fetch_dense if isinstance(rows, types.Array) else _fetch_csr


def _fetch_dense(rows: Any, i: Any) -> Any:
    d = _u(rows.shape[1])
    for f in range(_u(0), min(d, _u(_FETCHED)), _u(_LINE)):
        _prefetch(rows, i * d + f)


def _fetch_csr(rows: Any, i: Any) -> Any:
    data, indices, indptr = rows
    start = _u(indptr[i])
    for p in range(start, min(_u(indptr[i + _u(1)]), start + _u(_FETCHED)), _u(_LINE)):
        _prefetch(data, p)
        _prefetch(indices, p)


@intrinsic
def _prefetch(typingctx: Any, array: Any, at: Any) -> Any:  # noqa: ARG001 (Numba's protocol)
    """Ask for the cache line of a C-contiguous array's value number `at`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        place = builder.bitcast(builder.gep(data, [args[1]]), byte)
        # To read, into all levels, of data (not of instructions).
        builder.call(function, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, at), codegen
