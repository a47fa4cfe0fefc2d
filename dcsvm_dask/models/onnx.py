"""A model as an ONNX graph, from rows as they are to labels and decision values, or to targets.

Kernel values of all rows with all support vectors are one matrix of the graph, in float64; see
`bytes_of_pair`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, is_sparse
from dcsvm_dask.kernels.kinds import L1_DISTANCE, SQUARED_DISTANCE
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.onnx_graph import ROWS, Graph
from dcsvm_dask.models.onnx_table import Column, table_rows

Vector = NDArray[np.float64]


def bytes_of_pair(kernel: Kernel) -> int:
    """Return the memory that a batch takes for each pair of a row and a support vector.

    As measured with ONNX Runtime 1.32: two matrices of float64, or six for L1 distances, which
    are a loop.
    """
    if kernel.is_linear:
        return 0
    return 48 if kernel.kind.argument == L1_DISTANCE else 16


@dataclass(frozen=True, slots=True)
class RowScaling:
    """What is done to rows before a kernel sees them, as ingest does it.

    Attributes
    ----------
    offset : ndarray, shape (n_features,), or None
        Subtracted first.
    factor : ndarray, shape (n_features,), or None
        Multiplied then.
    unit : bool
        Whether rows are divided by their length then.
    fill : ndarray, shape (n_features,), or None
        What stands for NaN, before all this.
    columns : sequence of Column
        The columns of a table that rows are made of first; without any the input has rows.
    """

    offset: Vector | None = None
    factor: Vector | None = None
    unit: bool = False
    fill: Vector | None = None
    columns: Sequence[Column] = ()


def expansion_onnx(
    kernel: Kernel,
    support: Rows,
    coef: Vector,
    bias: float,
    classes: NDArray[Any] | None,
    scaling: RowScaling | None = None,
) -> Any:
    """Return one sum of kernel values, over two classes or of a target, as an `onnx.ModelProto`.

    Parameters
    ----------
    kernel : Kernel
    support : Rows, shape (n, n_features), float32
    coef : ndarray, shape (n,), float64
    bias : float
    classes : ndarray of two labels, or None
        The second one is that of decision values above 0. None: the sum is a predicted target.
    scaling : RowScaling, optional
        By default rows come as the kernel takes them.

    Returns
    -------
    onnx.ModelProto
        Input ``rows``, float32, shape (N, n_features); outputs ``label``, shape (N,), and
        ``decision``, float32, shape (N,); without classes ``prediction``, float64, shape (N,).

    Raises
    ------
    InputError
        If onnx is not installed, or the model is larger than a file can be.
    """
    graph = Graph()
    x, offset = _scaled_rows(graph, scaling), np.array([bias])
    if kernel.is_linear:
        weights = np.asarray(coef @ support.astype(np.float64))[None, :]
        values = graph.add("Gemm", x, weights, offset, transB=1)
    else:
        values = graph.add("Gemm", _kernel(graph, kernel, x, support), coef[:, None], offset)
    if classes is None:
        return graph.regressor(support.shape[1], _column(graph, values))
    return _of_two(graph, support.shape[1], values, classes)


def linear_onnx(
    weights: Vector, bias: Vector, classes: NDArray[Any], scaling: RowScaling | None = None
) -> Any:
    """Return linear SVMs as an `onnx.ModelProto`; see `expansion_onnx`.

    Parameters
    ----------
    weights : ndarray, shape (n_machines, n_features)
        Of one SVM for two classes, above 0 for the second; of more classes of one SVM for
        each, whose largest value wins.
    bias : ndarray, shape (n_machines,)
    classes : ndarray, shape (n_classes,)
    scaling : RowScaling, optional

    Returns
    -------
    onnx.ModelProto
        ``decision`` has a column for each class where these are more than two.
    """
    graph = Graph()
    x = _scaled_rows(graph, scaling)
    values = graph.add("Gemm", x, weights.astype(np.float64), bias.astype(np.float64), transB=1)
    if len(classes) == 2:
        return _of_two(graph, weights.shape[1], values, classes)
    label = graph.add("ArgMax", values, axis=1, keepdims=0)
    return graph.model(weights.shape[1], label, classes, values, len(classes))


def ovo_onnx(
    model: Model,
    classes: NDArray[Any],
    *,
    shape: str = "ovr",
    break_ties: bool = False,
    scaling: RowScaling | None = None,
) -> Any:
    """Return the SVMs of all pairs of classes as an `onnx.ModelProto`; see `expansion_onnx`.

    Parameters
    ----------
    model : Model
    classes : ndarray, shape (n_classes,)
    shape : {"ovr", "ovo"}, default "ovr"
        Whether ``decision`` has a column for each class (`OneVsOne.values_of_classes`) or for each
        pair. For two classes it has the shape (N,) and is above 0 for the second.
    break_ties : bool, default False
        Whether the largest confidence decides, not the first class of the most votes.
    scaling : RowScaling, optional
    """
    graph = Graph()
    n_classes, n_features = len(classes), int(model.support.shape[1])
    values = _pair_values(graph, model, _scaled_rows(graph, scaling))
    if n_classes == 2:
        label = graph.cast(graph.add("LessOrEqual", values, 0.0), np.int64)
        decision = graph.add("Neg", values)
        return graph.model(
            n_features, _column(graph, label), classes, _column(graph, decision), None
        )
    sides = graph.cast(_sides(n_classes), np.float64)
    votes = _votes(graph, graph.add("Greater", values, 0.0), sides, n_classes)
    if shape == "ovo":
        label = graph.add("ArgMax", votes, axis=1, keepdims=0)
        return graph.model(n_features, label, classes, values, model.bias.shape[1])
    confidences = _confidences(graph, values, sides, n_classes)
    label = graph.add("ArgMax", confidences if break_ties else votes, axis=1, keepdims=0)
    return graph.model(n_features, label, classes, confidences, n_classes)


def ovr_onnx(model: Model, classes: NDArray[Any], scaling: RowScaling | None = None) -> Any:
    """Return SVMs of each class against the rest as an `onnx.ModelProto`; see `linear_onnx`."""
    if model.kernel.is_linear:
        return linear_onnx(model.weights(), model.bias[0], classes, scaling)
    graph = Graph()
    K = _kernel(graph, model.kernel, _scaled_rows(graph, scaling), model.support)
    values = graph.add("Gemm", K, np.ascontiguousarray(model.coef.T), model.bias[0])
    label = graph.add("ArgMax", values, axis=1, keepdims=0)
    return graph.model(int(model.support.shape[1]), label, classes, values, len(classes))


def outputs_onnx(model: Model, scaling: RowScaling | None = None, *, sort: bool = False) -> Any:
    """Return SVMs that predict a target each as an `onnx.ModelProto`; see `expansion_onnx`.

    Parameters
    ----------
    model : Model
    scaling : RowScaling, optional
    sort : bool, default False
        Whether the predictions of each row ascend.

    Returns
    -------
    onnx.ModelProto
        ``prediction`` has a column for each SVM.
    """
    graph = Graph()
    x = _scaled_rows(graph, scaling)
    if model.kernel.is_linear:
        values = graph.add("Gemm", x, model.weights(), model.bias[0], transB=1)
    else:
        K = _kernel(graph, model.kernel, x, model.support)
        values = graph.add("Gemm", K, np.ascontiguousarray(model.coef.T), model.bias[0])
    width = model.bias.shape[1]
    if sort:
        values, _ = graph.add_many("TopK", 2, values, np.array([width]), axis=1, largest=0)
    return graph.regressor(int(model.support.shape[1]), values, width)


def _of_two(graph: Graph, n_features: int, values: str, classes: NDArray[Any]) -> Any:
    """End in two classes: above 0 is the second one."""
    label = graph.cast(graph.add("Greater", values, 0.0), np.int64)
    return graph.model(n_features, _column(graph, label), classes, _column(graph, values), None)


def _column(graph: Graph, values: str) -> str:
    return graph.add("Squeeze", values, np.array([1]))


def _scaled_rows(graph: Graph, scaling: RowScaling | None) -> str:
    """Return the rows in float64, rounded to float32 after scaling as those of training are."""
    if scaling is None:
        return graph.cast(ROWS, np.float64)
    columns = scaling.columns
    x = table_rows(graph, columns) if columns else graph.cast(ROWS, np.float64)
    if scaling.fill is not None:
        x = graph.add("Where", graph.add("IsNaN", x), scaling.fill, x)
    if scaling.offset is not None:
        x = graph.add("Sub", x, scaling.offset)
    if scaling.factor is not None:
        x = graph.add("Mul", x, scaling.factor)
    if scaling.unit:
        length = graph.add("Sqrt", graph.add("ReduceSumSquare", x, np.array([1])))
        safe = graph.add("Where", graph.add("Greater", length, 0.0), length, 1.0)
        x = graph.add("Div", x, safe)
    return graph.cast(graph.cast(x, np.float32), np.float64)


def _kernel(graph: Graph, kernel: Kernel, x: str, support: Rows) -> str:
    """Return K(x_i, z_j) for all rows and support vectors, (N, n_support); not of linear."""
    n, d = support.shape
    graph.check_room(4 * n * d)
    dense = support.toarray() if is_sparse(support) else support
    z = graph.cast(dense.astype(np.float32), np.float64)
    gamma = float(kernel.gamma)
    if kernel.kind.argument == SQUARED_DISTANCE:
        t = _decay(graph, gamma, x, z, dense)
    elif kernel.kind.argument == L1_DISTANCE:
        t = graph.add("Mul", _distances(graph, x, z, n), -gamma)
    else:
        coef0 = np.array([float(kernel.coef0)])
        t = graph.add("Gemm", graph.add("Mul", x, gamma), z, coef0, transB=1)
    return kernel.kind.onnx(graph.add, kernel, t)


def _decay(graph: Graph, gamma: float, x: str, z: str, support: NDArray[np.float32]) -> str:
    """Return -gamma |x - z|^2 as u'v - |u|^2 / 2 - |v|^2 / 2, u and v near the origin."""
    centre = support.mean(axis=0, dtype=np.float64) if len(support) else np.zeros(support.shape[1])
    width = math.sqrt(2.0 * gamma)
    u, v = (graph.add("Mul", graph.add("Sub", one, centre), width) for one in (x, z))
    axis = np.array([1])
    of_rows = graph.add("Mul", graph.add("ReduceSumSquare", u, axis), 0.5)
    of_support = graph.add("Mul", graph.add("ReduceSumSquare", v, axis, keepdims=0), -0.5)
    return graph.add("Sub", graph.add("Gemm", u, v, of_support, transB=1), of_rows)


def _distances(graph: Graph, x: str, z: str, n_support: int) -> str:
    """Return |x - z|_1, feature after feature: ONNX has no such operator for matrices."""
    body = Graph("step_")
    column = body.add("Unsqueeze", "slice_0", np.array([1]))
    apart = body.add("Abs", body.add("Sub", column, "slice_1"))
    total = body.add("Add", "state", apart)
    n_rows = graph.add("Shape", x, start=0, end=1)
    shape = graph.add("Concat", n_rows, np.array([n_support]), axis=0)
    zeros = graph.add("Expand", 0.0, shape)
    columns = (graph.add("Transpose", one, perm=[1, 0]) for one in (x, z))
    return graph.scan(body, total, zeros, *columns)


def _pair_values(graph: Graph, model: Model, x: str) -> str:
    """Return the decision values of all pairs, (N, n_pairs); above 0 means the first class."""
    if model.kernel.is_linear:
        return graph.add("Gemm", x, model.weights(), model.bias[0], transB=1)
    k, counts = model.n_classes, model.counts[0]
    stop = np.cumsum(counts)
    K = _kernel(graph, model.kernel, x, model.support)
    parts = graph.add_many("Split", k, K, counts.astype(np.int64), axis=1)
    # Of each class its sums in the SVMs that it takes part in.
    sums = [
        graph.add("MatMul", part, np.ascontiguousarray(model.coef[:, last - count : last].T))
        for part, count, last in zip(parts, counts, stop, strict=True)
    ]
    table = graph.add("Concat", *sums, axis=1)
    pairs = list(combinations(range(k), 2))
    first = np.array([a * (k - 1) + b - 1 for a, b in pairs])
    second = np.array([b * (k - 1) + a for a, b in pairs])
    both = (graph.add("Gather", table, column, axis=1) for column in (first, second))
    return graph.add("Add", graph.add("Add", *both), model.bias[0])


def _sides(n_classes: int) -> NDArray[np.int8]:
    """Return 1 where a class is a pair's first, -1 where its second: (n_pairs, n_classes)."""
    pairs = list(combinations(range(n_classes), 2))
    sides = np.zeros((len(pairs), n_classes), np.int8)
    for number, (a, b) in enumerate(pairs):
        sides[number, a], sides[number, b] = 1, -1
    return sides


def _votes(graph: Graph, first: str, sides: str, n_classes: int) -> str:
    """Return how many pairs decide for each class; `first` says which do for their first one."""
    # As many as have it for their second, but for those that decide otherwise.
    second_of = np.arange(n_classes, dtype=np.float64)
    return graph.add("Gemm", graph.cast(first, np.float64), sides, second_of)


def _confidences(graph: Graph, values: str, sides: str, n_classes: int) -> str:
    """Return the values of `OneVsOne.values_of_classes`; 0 is a vote for the first class."""
    votes = _votes(graph, graph.add("GreaterOrEqual", values, 0.0), sides, n_classes)
    sums = graph.add("MatMul", values, sides)
    below = graph.add("Mul", graph.add("Add", graph.add("Abs", sums), 1.0), 3.0)
    return graph.add("Add", votes, graph.add("Div", sums, below))
