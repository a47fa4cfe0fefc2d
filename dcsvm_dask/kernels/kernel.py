"""A kernel with its parameters, and its values on the diagonal."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.checks import is_finite
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.kinds import KERNELS, KernelKind
from dcsvm_dask.kernels.rows import Rows, squared_norms


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel function with its parameters; names and formulas are scikit-learn's and LIBSVM's.

    `dcsvm_dask.kernels.KERNELS` has the formula of every kernel, and what can be done with it.

    Parameters
    ----------
    name : str, default "rbf"
        One of `KERNELS`.
    gamma : float, default 1.0
        Above 0 and finite; kernels without it ignore it.
    degree : int, default 3
        From 1; likewise.
    coef0 : float, default 0.0
        Finite; likewise.

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
        name: object = self.name
        if not (isinstance(name, str) and name in KERNELS):
            raise InputError(f"kernel {name!r:.80} is unknown; choose one of {', '.join(KERNELS)}.")
        if not (_is_number(self.gamma) and self.gamma > 0):
            raise InputError(f"gamma is {self.gamma!r:.80}; give a finite number above 0.")
        if not (_is_number(self.degree) and 1 <= self.degree < 2**31 and self.degree % 1 == 0):
            raise InputError(f"degree is {self.degree!r:.80}; give a whole number from 1.")
        if not _is_number(self.coef0):
            raise InputError(f"coef0 is {self.coef0!r:.80}; give a finite number.")

    @property
    def kind(self) -> KernelKind:
        """The kernel without the values of its parameters."""
        return KERNELS[self.name]

    @property
    def is_shift_invariant(self) -> bool:
        """Whether K depends on x - z only."""
        return self.kind.is_shift_invariant

    @property
    def is_linear(self) -> bool:
        """Whether K(x, z) = x'z."""
        return self.kind.is_linear

    @property
    def is_psd(self) -> bool:
        """Whether every kernel matrix is positive semi-definite."""
        psd = self.kind.psd
        return psd is not None and psd(self)

    def uses(self, parameter: str) -> bool:
        """Whether gamma, degree or coef0 has an influence on its values."""
        return self.kind.uses(parameter)

    def has_map(self, rule: str) -> bool:
        """Whether a feature map of `dcsvm_dask.features` approximates it."""
        return rule in self.kind.feature_maps

    def value(self, argument: NDArray[Any]) -> NDArray[Any]:
        """Return the kernel values of inner products, or of distances, as its kind takes them."""
        return self.kind.value(self, argument)


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
    return kernel.value(squared_norms(X))


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and is_finite(value)
