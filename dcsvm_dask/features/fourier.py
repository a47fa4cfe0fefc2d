"""Random Fourier features: cosines and sines at frequencies drawn from the kernel's spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.features.feature_map import FeatureMap, check_numbers
from dcsvm_dask.kernels import Kernel, Rows, kernels_with_map
from dcsvm_dask.kernels.kinds import Draw


@dataclass(frozen=True, eq=False)
class Fourier(FeatureMap):
    """z(x) = (cos w_1'x, ..., cos w_F'x, sin w_1'x, ..., sin w_F'x) / sqrt(F).

    Frequencies w have the kernel's spectrum as their density (Rahimi and Recht, NIPS 2007):
    normal with variance 2 gamma in each feature for rbf, Cauchy with scale gamma for laplacian.
    The mean of z(x)'z(x') over them is K(x, x').

    With D = 2 F outputs the variance is (1 + K(2 delta) - 2 K(delta)^2) / D, delta = x - x'; with
    D outputs cos(w'x + b) of random offsets b it is (1 + K(2 delta) / 2 - K(delta)^2) / D. Pairs of
    cosine and sine are the better choice where K(2 delta) <= 2 K(delta)^2 (Sutherland and
    Schneider, UAI 2015), as it is for rbf (K^4) and laplacian (K^2) always; z(x)'z(x) = 1 exactly,
    and there are half as many products.

    Phases w'x are float32: they are off by about 2^-24 |w'x|, far below the error of the
    approximation unless gamma is so large that the kernel is 0 between all rows.

    Parameters
    ----------
    kernel : Kernel
        rbf or laplacian.
    frequencies : ndarray, shape (d, F), float32
    """

    rule = "fourier"

    kernel: Kernel
    frequencies: NDArray[np.float32]

    def __post_init__(self) -> None:
        _spectrum(self.kernel)
        check_numbers("frequencies", self.frequencies, (None, None), np.float32)
        if self.frequencies.shape[1] == 0:
            raise InputError("not a feature map: it has no frequencies.")

    @classmethod
    def draw(
        cls, kernel: Kernel, n_features: int, n_outputs: int, rng: np.random.Generator
    ) -> Fourier:
        """Draw frequencies for rows of `n_features`.

        Parameters
        ----------
        kernel : Kernel
            rbf or laplacian.
        n_features : int
        n_outputs : int
            Even: a cosine and a sine for each frequency.
        rng : numpy.random.Generator

        Raises
        ------
        InputError
            If the kernel is another, or n_outputs is not an even number from 2.
        """
        size = (n_features, count_frequencies(n_outputs))
        drawn = _spectrum(kernel)(kernel.gamma, rng, size)
        with np.errstate(over="ignore"):  # refused by the constructor
            return cls(kernel, drawn.astype(np.float32))

    @property
    def n_features(self) -> int:
        """Number of features of the rows that the map takes."""
        return int(self.frequencies.shape[0])

    @property
    def n_outputs(self) -> int:
        """Twice the number of frequencies."""
        return 2 * int(self.frequencies.shape[1])

    @property
    def _numbers_per_row(self) -> int:
        return self.n_outputs

    def _write(self, X: Rows, out: NDArray[np.float32]) -> None:
        with np.errstate(invalid="ignore", over="ignore"):  # reported by `transform`
            out[:, self.n_outputs // 2 :] = X @ self.frequencies
        to_waves(out)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"frequencies": self.frequencies}

    @classmethod
    def _restore(cls, kernel: Kernel, arrays: dict[str, NDArray[Any]], n_features: int) -> Fourier:
        del n_features
        return cls(kernel, arrays["frequencies"])


def _spectrum(kernel: Kernel) -> Draw:
    """Return what draws from a kernel's spectral distribution; refuse a kernel without one."""
    if kernel.kind.frequencies is None:
        raise InputError(
            f"random Fourier features exist for the {' and '.join(kernels_with_map(Fourier.rule))}"
            f" kernels, not for {kernel.name}; take the Nystrom approximation."
        )
    return kernel.kind.frequencies


def count_frequencies(n_outputs: int) -> int:
    """Return how many frequencies give so many outputs.

    Raises
    ------
    InputError
        If it is not an even number from 2.
    """
    if n_outputs < 2 or n_outputs % 2:
        raise InputError(
            f"n_outputs is {n_outputs}; give an even number from 2: every frequency has a cosine"
            " and a sine."
        )
    return n_outputs // 2


def to_waves(out: NDArray[np.float32]) -> None:
    """Turn phases in the right half of `out` into cosines on the left and sines on the right."""
    half = out.shape[1] // 2
    phases = out[:, half:]
    with np.errstate(invalid="ignore"):
        np.cos(phases, out=out[:, :half])
        np.sin(phases, out=phases)
    out *= np.float32(1 / np.sqrt(half))
