"""The kernels, one object each: formula, parameters, and what can be done with it.

To add a kernel, add an object here and, if no function of `dcsvm_dask.kernels.values` is its own,
a function there. The rest of the package asks the object.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

LN2 = math.log(2.0)

INNER_PRODUCT, SQUARED_DISTANCE, L1_DISTANCE = range(3)
"""The argument of a kernel function: x'z, ||x - z||^2 or ||x - z||_1."""

IDENTITY, POWER, TANH, EXPONENTIAL = range(4)
"""The functions that compiled code applies to the argument; see `values.to_values`."""


class Parameters(Protocol):
    """The parameters of a kernel function, as `dcsvm_dask.kernels.Kernel` has them."""

    @property
    def gamma(self) -> float:
        """Of all kernels but the linear one."""

    @property
    def degree(self) -> int:
        """Of the polynomial kernel."""

    @property
    def coef0(self) -> float:
        """Of the polynomial and the sigmoid kernel."""


class Power(NamedTuple):
    """The parameters of a kernel (gamma x'z + coef0)^degree."""

    gamma: float
    coef0: float
    degree: int


Values = NDArray[Any]
Vector = NDArray[np.float64]
Draw = Callable[[float, np.random.Generator, tuple[int, int]], Vector]


@dataclass(frozen=True, slots=True)
class KernelKind:
    """A kernel function without the values of its parameters."""

    name: str
    """As in scikit-learn, where that has it."""

    formula: str
    """K(x, z)."""

    argument: int
    """INNER_PRODUCT, SQUARED_DISTANCE or L1_DISTANCE."""

    function: int
    """Which function compiled code applies to the argument."""

    parameters: tuple[str, ...]
    """Those of gamma, degree and coef0 that it uses."""

    value: Callable[[Parameters, Values], Values]
    """Return kernel values from the kernel and the argument (without gamma), in NumPy.

    Of a distance u: falling from 1, with |u dK/du| <= (2 / e) sqrt(K). Bounds rest on that.
    """

    onnx: Callable[[Callable[..., str], Parameters, str], str]
    """Add ONNX operators that turn an argument into kernel values.

    Takes a function that adds an operator, the kernel, and the name of gamma x'z + coef0, or of a
    distance times -gamma.
    """

    unit: float = 1.0
    """Compiled code receives gamma and coef0 divided by this."""

    error: Callable[[Parameters, float, float, float, Vector], Vector] | None = None
    """Of inner products: the deviation of K(x, z_j), where ||x|| <= radius.

    Takes the kernel, the unit roundoff, the factor by which sums over features increase it, the
    radius, and the norms ||z_j||.
    """

    psd: Callable[[Parameters], bool] | None = None
    """Whether every kernel matrix is positive semi-definite; None: with no parameters."""

    frequencies: Draw | None = None
    """Draw from the spectral distribution of a shift-invariant kernel (Bochner): gamma, rng, size.

    None: random Fourier features do not exist.
    """

    feature_maps: tuple[str, ...] = ()
    """Rules of the maps in `dcsvm_dask.features` that approximate it."""

    power: Callable[[Parameters], Power] | None = None
    """Its parameters as a power of inner products; None: it is none."""

    libsvm: str | None = None
    """Its name in LIBSVM's model files; None: neither LIBSVM nor scikit-learn's SVC has it."""

    @property
    def is_shift_invariant(self) -> bool:
        """Whether K depends on x - z only."""
        return self.argument != INNER_PRODUCT

    @property
    def is_gaussian(self) -> bool:
        """Whether K falls with the squared distance by its exponential.

        A point between two others then comes nearest to their sum, of all points.
        """
        return self.function == EXPONENTIAL and self.argument == SQUARED_DISTANCE

    @property
    def is_linear(self) -> bool:
        """Whether K(x, z) = x'z: a model is then one vector of weights."""
        return self.function == IDENTITY and self.argument == INNER_PRODUCT

    @property
    def can_be_psd(self) -> bool:
        """Whether there are parameters with which it is positive semi-definite."""
        return self.psd is not None

    def uses(self, parameter: str) -> bool:
        """Whether gamma, degree or coef0 has an influence on its values."""
        return parameter in self.parameters


_KINDS = (
    KernelKind(
        name="rbf",
        formula="exp(-gamma ||x - z||^2)",
        argument=SQUARED_DISTANCE,
        function=EXPONENTIAL,
        parameters=("gamma",),
        value=lambda kernel, distance: np.exp(-kernel.gamma * distance),
        onnx=lambda add, _, exponent: add("Exp", exponent),
        unit=LN2,
        psd=lambda _: True,
        frequencies=lambda gamma, rng, size: np.sqrt(2 * gamma) * rng.standard_normal(size),
        feature_maps=("nystrom", "fourier", "fastfood", "ltpu"),
        libsvm="rbf",
    ),
    KernelKind(
        name="poly",
        formula="(gamma x'z + coef0)^degree",
        argument=INNER_PRODUCT,
        function=POWER,
        parameters=("gamma", "degree", "coef0"),
        value=lambda kernel, dots: (kernel.gamma * dots + kernel.coef0) ** kernel.degree,
        onnx=lambda add, kernel, t: add("Pow", t, float(kernel.degree)),
        error=lambda kernel, unit, terms, radius, norms: (
            unit * kernel.degree * (1 + terms) * _size(kernel, radius, norms) ** kernel.degree
        ),
        psd=lambda kernel: kernel.coef0 >= 0,
        feature_maps=("nystrom",),
        power=lambda kernel: Power(kernel.gamma, kernel.coef0, int(kernel.degree)),
        libsvm="polynomial",
    ),
    KernelKind(
        name="linear",
        formula="x'z",
        argument=INNER_PRODUCT,
        function=IDENTITY,
        parameters=(),
        value=lambda _, dots: dots,
        onnx=lambda _add, _kernel, t: t,
        error=lambda _, unit, terms, radius, norms: unit * terms * radius * norms,
        psd=lambda _: True,
        feature_maps=("nystrom",),
        power=lambda _: Power(1.0, 0.0, 1),
        libsvm="linear",
    ),
    KernelKind(
        name="sigmoid",
        formula="tanh(gamma x'z + coef0)",
        argument=INNER_PRODUCT,
        function=TANH,
        parameters=("gamma", "coef0"),
        value=lambda kernel, dots: np.tanh(kernel.gamma * dots + kernel.coef0),
        onnx=lambda add, _, t: add("Tanh", t),
        unit=LN2 / 2,
        error=lambda kernel, unit, terms, radius, norms: (
            unit * (1 + terms * _size(kernel, radius, norms))
        ),
        libsvm="sigmoid",
    ),
    KernelKind(
        name="laplacian",
        formula="exp(-gamma ||x - z||_1)",
        argument=L1_DISTANCE,
        function=EXPONENTIAL,
        parameters=("gamma",),
        value=lambda kernel, distance: np.exp(-kernel.gamma * distance),
        onnx=lambda add, _, exponent: add("Exp", exponent),
        unit=LN2,
        psd=lambda _: True,
        frequencies=lambda gamma, rng, size: gamma * rng.standard_cauchy(size),
        feature_maps=("nystrom", "fourier"),
    ),
)

KERNELS = {kind.name: kind for kind in _KINDS}
"""All kernels by name."""


def kernels_with_map(rule: str) -> tuple[str, ...]:
    """Return the names of the kernels that a feature map approximates."""
    return tuple(kind.name for kind in _KINDS if rule in kind.feature_maps)


def kernels_of_libsvm() -> tuple[str, ...]:
    """Return our names of the kernels that LIBSVM and scikit-learn's SVC have."""
    return tuple(kind.name for kind in _KINDS if kind.libsvm is not None)


def is_linear(name: object) -> bool:
    """Whether something is the name of the linear kernel."""
    return isinstance(name, str) and name in KERNELS and KERNELS[name].is_linear


def parameters_of(name: str) -> tuple[str, ...]:
    """Return those of gamma, degree and coef0 that a kernel uses; none of an unknown one."""
    return KERNELS[name].parameters if name in KERNELS else ()


def _size(kernel: Parameters, radius: float, norms: Vector) -> Vector:
    return kernel.gamma * radius * norms + abs(kernel.coef0)
