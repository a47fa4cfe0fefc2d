"""The kernel functions by name and parameters, and their values on the diagonal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows, squared_norms

RBF, POLY, LINEAR, SIGMOID, LAPLACIAN = range(5)
CODES = {"rbf": RBF, "poly": POLY, "linear": LINEAR, "sigmoid": SIGMOID, "laplacian": LAPLACIAN}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel function with its parameters; names and formulas are scikit-learn's and LIBSVM's.

    ==========  =============================================
    name        K(x, z)
    ==========  =============================================
    rbf         exp(-gamma ||x - z||^2)
    poly        (gamma x'z + coef0)^degree
    linear      x'z
    sigmoid     tanh(gamma x'z + coef0)
    laplacian   exp(-gamma ||x - z||_1)
    ==========  =============================================

    Parameters
    ----------
    name : str, default "rbf"
        One of the names above.
    gamma : float, default 1.0
        Above 0 and finite. The linear kernel ignores it.
    degree : int, default 3
        From 1; only the polynomial kernel uses it.
    coef0 : float, default 0.0
        Finite; only the polynomial and sigmoid kernels use it.

    Raises
    ------
    InputError
        If a parameter is outside its range.
    """

    name: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        name: Any = self.name
        if not (isinstance(name, str) and name in CODES):
            raise InputError(f"kernel {name!r:.80} is unknown; choose one of {', '.join(CODES)}.")
        if not (_is_number(self.gamma) and self.gamma > 0):
            raise InputError(f"gamma is {self.gamma!r:.80}; give a finite number above 0.")
        if not (_is_number(self.degree) and 1 <= self.degree < 2**31 and self.degree % 1 == 0):
            raise InputError(f"degree is {self.degree!r:.80}; give a whole number from 1.")
        if not _is_number(self.coef0):
            raise InputError(f"coef0 is {self.coef0!r:.80}; give a finite number.")

    @property
    def code(self) -> int:
        """The kernel as an integer, the form in which compiled code takes it."""
        return CODES[self.name]

    @property
    def is_shift_invariant(self) -> bool:
        """Whether K depends on x - z only."""
        return self.name in ("rbf", "laplacian")

    @property
    def is_psd(self) -> bool:
        """Whether every kernel matrix is positive semi-definite.

        Never so for the sigmoid kernel; for the polynomial one it takes coef0 >= 0.
        """
        if self.name == "poly":
            return self.coef0 >= 0
        return self.name != "sigmoid"


def kernel_diagonal(kernel: Kernel, X: Rows) -> NDArray[np.float64]:
    """Return K(x_i, x_i) for every row, in float64.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32

    Returns
    -------
    ndarray, shape (n,), float64
    """
    if kernel.is_shift_invariant:
        return np.ones(X.shape[0])
    return of_dot_products(kernel, squared_norms(X))


def of_dot_products(kernel: Kernel, dots: NDArray[Any]) -> NDArray[Any]:
    """Return the kernel values that belong to dot products x'z (no shift-invariant kernels)."""
    if kernel.name == "linear":
        return dots
    t = kernel.gamma * dots + kernel.coef0
    return np.tanh(t) if kernel.name == "sigmoid" else t**kernel.degree


def is_finite(value: Any) -> bool:
    """Whether a number is one that a float64 can hold, which not every int is."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and is_finite(value)
