"""LIBLINEAR's library in this process, so that training is timed without reading.

    apt-get install liblinear-tools

Structures are those of version 2.30 (Debian's `liblinear.so.4`).
"""

from __future__ import annotations

import ctypes
import time
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

NAME = "liblinear.so.4"
SOLVERS = {"squared_hinge": 1, "hinge": 3, "primal": 2}
"""Those of the dual problem by loss, and Newton's method for the squared hinge loss."""
NODE = np.dtype([("index", np.int32), ("value", np.float64)], align=True)


class _Problem(Structure):
    _fields_ = [
        ("l", c_int),
        ("n", c_int),
        ("y", c_void_p),
        ("x", c_void_p),
        ("bias", c_double),
    ]


class _Parameter(Structure):
    _fields_ = [
        ("solver_type", c_int),
        ("eps", c_double),
        ("C", c_double),
        ("nr_weight", c_int),
        ("weight_label", c_void_p),
        ("weight", c_void_p),
        ("p", c_double),
        ("init_sol", c_void_p),
    ]


class _Model(Structure):
    _fields_ = [
        ("param", _Parameter),
        ("nr_class", c_int),
        ("nr_feature", c_int),
        ("w", POINTER(c_double)),
        ("label", POINTER(c_int)),
        ("bias", c_double),
    ]


@dataclass(frozen=True)
class Trained:
    """What a training reached, and how long it took."""

    w: NDArray[np.float64]
    b: float
    dual: float
    """The dual objective, minimised."""
    passes: int
    seconds: float
    """Of this process' processor time."""


class Liblinear:
    """Rows in LIBLINEAR's form, float64, with an appended constant of 1 where there is a bias."""

    def __init__(self, X: Any, y: NDArray[Any], *, bias: bool = True) -> None:
        X = sparse.csr_matrix(X).astype(np.float64)
        n, d = X.shape
        lengths = np.diff(X.indptr)
        more = 2 if bias else 1
        nodes = np.zeros(X.nnz + more * n, NODE)
        starts = X.indptr[:-1].astype(np.int64) + more * np.arange(n)
        place = np.arange(X.nnz) + more * np.repeat(np.arange(n), lengths)
        nodes["index"][place], nodes["value"][place] = X.indices + 1, X.data
        if bias:
            nodes["index"][starts + lengths], nodes["value"][starts + lengths] = d + 1, 1.0
        nodes["index"][starts + lengths + more - 1] = -1
        self._bias = bias
        self._nodes = nodes
        self._x = (nodes.ctypes.data + starts * NODE.itemsize).astype(np.uintp)
        self._y = np.asarray(y, np.float64).copy()
        places = self._y.ctypes.data, self._x.ctypes.data
        self._problem = _Problem(n, d + bias, *places, 1.0 if bias else -1.0)
        self._library = ctypes.CDLL(NAME)
        self._library.train.restype = POINTER(_Model)
        self._said: list[str] = []
        self._listen = CFUNCTYPE(None, c_char_p)(lambda text: self._said.append(text.decode()))
        self._library.set_print_string_function(self._listen)

    def train(self, loss: str, C: float, eps: float) -> Trained:
        """Solve the dual problem, or of the loss "primal" the primal one."""
        self._said.clear()
        parameter = _Parameter(SOLVERS[loss], eps, C, 0, None, None, 0.1, None)
        begin = time.process_time()
        model = self._library.train(byref(self._problem), byref(parameter))
        seconds = time.process_time() - begin
        found = model.contents
        # The first label is LIBLINEAR's positive class.
        sign = 1.0 if found.label[0] > 0 else -1.0
        w = sign * np.ctypeslib.as_array(found.w, (self._problem.n,)).copy()
        said = "".join(self._said).splitlines()
        told = dict(line.split("=") for line in said if line.count("=") == 1)
        dual = float(told.get("Objective value ", "nan"))
        passes = int(told.get("optimization finished, #iter ", "0"))
        self._library.free_and_destroy_model(byref(model))
        if not self._bias:
            return Trained(w, 0.0, dual, passes, seconds)
        return Trained(w[:-1], float(w[-1]), dual, passes, seconds)
