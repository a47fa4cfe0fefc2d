"""Building an ONNX graph: operators added one after the other, values known by their names."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError

OPSET, IR_VERSION = 18, 8
"""Of ONNX 1.13 (2022): all operators here are in it, and every runtime since knows them."""
OTHERS = {"ai.onnx.ml": 2}
"""Other sets of operators, in the versions that are used of them."""
LARGEST = 2**31 - 2**20
"""Bytes of constants: what protobuf can write, less room for the graph itself."""

ROWS, LABEL, DECISION, PREDICTION = "rows", "label", "decision", "prediction"


class Graph:
    """A computation on rows that is float64 inside.

    ONNX Runtime's own support vector machines (``ai.onnx.ml``) are float32, and its float32
    product and exponential lose a decision value's fourth digit where gamma is large.

    Parameters
    ----------
    prefix : str, default ""
        Of the names of values; that of a loop's body is its own.

    Raises
    ------
    InputError
        If the package onnx is not installed.
    """

    def __init__(self, prefix: str = "") -> None:
        if find_spec("onnx") is None:
            raise InputError("export to ONNX needs onnx: pip install onnx")
        self._prefix = prefix
        self._inputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._bytes = 0

    def input(self, name: str, dtype: Any, width: int) -> str:
        """Add an input of the shape (N, `width`), and return its name."""
        from onnx import helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._inputs.append(helper.make_tensor_value_info(name, kind, ["N", width]))
        return name

    def constant(self, values: ArrayLike) -> str:
        """Return the name of a constant of the graph.

        Raises
        ------
        InputError
            If constants are more than a file can hold.
        """
        from onnx import numpy_helper

        array = np.asarray(values)
        self.check_room(array.nbytes)
        self._bytes += array.nbytes
        name = f"{self._prefix}constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def check_room(self, n_bytes: int) -> None:
        """Refuse more constants than a file can hold, before anybody makes them.

        Raises
        ------
        InputError
        """
        if self._bytes + n_bytes > LARGEST:
            raise InputError(
                f"export: the model takes {(self._bytes + n_bytes) / 1e9:.1f} GB in ONNX, whose "
                "arrays are dense, and a file holds 2 GB: take LIBSVM's format"
            )

    def add(self, operator: str, *inputs: str | float | NDArray[Any], **attributes: Any) -> str:
        """Add an operator and return the name of its output.

        Numbers and arrays among the inputs become constants, numbers in float64.
        """
        return self.add_many(operator, 1, *inputs, **attributes)[0]

    def add_many(
        self, operator: str, n_outputs: int, *inputs: str | float | NDArray[Any], **attributes: Any
    ) -> list[str]:
        """Add an operator of several outputs and return their names."""
        from onnx import helper

        names = [one if isinstance(one, str) else self._of_value(one) for one in inputs]
        outputs = [f"{self._prefix}value_{len(self._nodes)}_{k}" for k in range(n_outputs)]
        self._nodes.append(helper.make_node(operator, names, outputs, **attributes))
        return outputs

    def cast(self, value: str | NDArray[Any], dtype: Any) -> str:
        """Add a conversion to a type of NumPy's."""
        from onnx import helper

        return self.add("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def scan(self, body: Graph, result: str, start: str, *over: str) -> str:
        """Add a loop over the first axis of some values; `body` makes the next state of the last.

        In `body` the state is called ``state`` and a slice of the k-th value ``slice_k``; what
        it makes is called `result`. It sees this graph's values.
        """
        from onnx import TensorProto, helper

        names = ["state", *(f"slice_{k}" for k in range(len(over)))]
        ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in names]
        made = helper.make_tensor_value_info(result, TensorProto.DOUBLE, None)
        inner = helper.make_graph(body._nodes, "step", ends, [made], body._constants)
        return self.add("Scan", start, *over, body=inner, num_scan_inputs=len(over))

    def model(
        self,
        n_features: int,
        label: str,
        classes: NDArray[Any],
        decision: str,
        n_columns: int | None,
    ) -> Any:
        """Return the graph as an `onnx.ModelProto`.

        Parameters
        ----------
        n_features : int
            Columns of the input ``rows``, float32, shape (N, n_features).
        label : str
            The index into `classes` of every row, shape (N,), int64.
        classes : ndarray, shape (n_classes,)
            Output ``label`` has them as int64, float64, bool or strings.
        decision : str
            Becomes the output ``decision``, float32.
        n_columns : int or None
            Columns of `decision`; None: it has the shape (N,).
        """
        from onnx import helper, numpy_helper

        labels = numpy_helper.from_array(_plain(classes), "classes")
        self._nodes += [
            helper.make_node("Gather", ["classes", label], [LABEL]),
            helper.make_node("Cast", [decision], [DECISION], to=helper.TensorProto.FLOAT),
        ]
        described = helper.make_tensor_value_info
        shape: list[str | int] = ["N"] if n_columns is None else ["N", n_columns]
        outputs = [
            described(LABEL, labels.data_type, ["N"]),
            described(DECISION, helper.TensorProto.FLOAT, shape),
        ]
        return self._checked(n_features, outputs, [labels])

    def regressor(self, n_features: int, value: str, width: int | None = None) -> Any:
        """Return the graph of predicted targets as an `onnx.ModelProto`; see `model`.

        Parameters
        ----------
        n_features : int
        value : str
            Shape (N,), or (N, width), float64; becomes the output ``prediction``.
        width : int, optional
            Targets of a row; None: one, without an axis.
        """
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [value], [PREDICTION]))
        double = helper.TensorProto.DOUBLE
        output = helper.make_tensor_value_info(
            PREDICTION, double, ["N"] if width is None else ["N", width]
        )
        return self._checked(n_features, [output], [])

    def _checked(self, n_features: int, outputs: list[Any], constants: list[Any]) -> Any:
        """Return the graph with its input and some outputs."""
        from onnx import checker, helper

        from dcsvm_dask import __version__

        if not self._inputs:
            self.input(ROWS, np.float32, n_features)
        graph = helper.make_graph(
            self._nodes,
            "support_vector_machine",
            self._inputs,
            outputs,
            [*self._constants, *constants],
        )
        model = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid("", OPSET),
                *(helper.make_opsetid(domain, version) for domain, version in self._others()),
            ],
            ir_version=IR_VERSION,
            producer_name="dcsvm_dask",
            producer_version=__version__,
        )
        checker.check_model(model)
        return model

    def _others(self) -> list[tuple[str, int]]:
        """Return the other sets of operators that the graph needs."""
        return [(name, OTHERS[name]) for name in sorted({one.domain for one in self._nodes} - {""})]

    def _of_value(self, value: float | NDArray[Any]) -> str:
        return self.constant(np.float64(value) if isinstance(value, int | float) else value)


def _plain(classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type that ONNX has."""
    if classes.dtype.kind in "iu" and (classes.size == 0 or classes.max() <= 2**63 - 1):
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if classes.dtype.kind == "b":
        return classes
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    raise InputError(
        f"export: ONNX has no labels such as {values[-1]!r:.80}; it has int64, float, bool, strings"
    )
