"""Locally-tuned processing units: kernel values with the centres of k-means, less their means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.features.centres import (
    centres_from_arrays,
    centres_to_arrays,
    check_centres,
    choose_centres,
    stored_as,
)
from dcsvm_dask.features.feature_map import FeatureMap, check_numbers
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kernel_matrix, kernels_with_map
from dcsvm_dask.kernels.rows import squared_norms

_LOWEST = -69.0
"""Exponents below this, e^-69 = 1e-30, are raised to it: nothing subnormal is made."""
_AVERAGED = 4096
"""Rows that means are taken over, at most."""


@dataclass(frozen=True, eq=False)
class Ltpu(FeatureMap):
    """z(x) = (exp(-gamma_j |x - c_j|^2) - m_j) over the centres c_j (Moody and Darken, 1989).

    With one gamma for all, as in the comparison of Hsieh, Si and Dhillon (ICML 2014), weights
    over the features are the coefficients of a kernel expansion over the centres as they are,
    but for an offset.

    A unit's mean m_j is taken off because the units of a smooth kernel are all nearly constant:
    their rows would differ by little beside what they have in common, and coordinate descent
    would settle that over thousands of passes. An SVM over them needs an offset.

    Parameters
    ----------
    kernel : Kernel
        rbf.
    centres : ndarray or CSR, shape (n_outputs, d), float32
    gammas : ndarray, shape (n_outputs,), float64
        A gamma for each centre.
    means : ndarray, shape (n_outputs,), float64
        What is taken off each kernel value.
    """

    rule = "ltpu"

    kernel: Kernel
    centres: Rows
    gammas: NDArray[np.float64]
    means: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not self.kernel.has_map(self.rule):
            raise InputError(
                "locally-tuned processing units exist for the"
                f" {' and '.join(kernels_with_map(self.rule))} kernel, not for"
                f" {self.kernel.name}; take the Nystrom approximation."
            )
        check_centres("centres", self.centres)
        for name in ("gammas", "means"):
            check_numbers(name, getattr(self, name), (self.centres.shape[0],), np.float64)
        if not (self.gammas > 0).all():
            raise InputError("not a feature map: its gammas are not above 0.")

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        X: Rows,
        n_centres: int,
        rng: np.random.Generator,
        *,
        neighbours: int | None = None,
    ) -> Ltpu:
        """Take the centres of k-means on at most 20 n_centres of the rows X, means on 4,096.

        Parameters
        ----------
        kernel : Kernel
            rbf.
        X : ndarray or CSR, shape (n, d), float32
        n_centres : int
            Fewer are made where X has fewer distinct rows.
        rng : numpy.random.Generator
        neighbours : int, optional
            From 1: a centre's width is the root mean square distance s to so many nearest other
            centres, and its gamma 1 / s^2, whatever gamma the kernel has. By default it is the
            kernel's.

        Raises
        ------
        InputError
            If the kernel is another, or a parameter is outside its range.
        """
        centres = choose_centres(X, n_centres, rng, "kmeans")
        m = centres.shape[0]
        if neighbours is None:
            return cls._centred(kernel, centres, np.full(m, float(kernel.gamma)), X, rng)
        if not 1 <= neighbours < m:
            raise InputError(
                f"neighbours is {neighbours}; give a number from 1 to {m - 1}, as there are {m}"
                " centres."
            )
        near = np.partition(_squared_distances(centres), neighbours, axis=1)
        # A centre itself is among them, at distance 0.
        gammas = neighbours / near[:, : neighbours + 1].sum(axis=1)
        return cls._centred(kernel, centres, gammas, X, rng)

    @classmethod
    def _centred(
        cls,
        kernel: Kernel,
        centres: Rows,
        gammas: NDArray[np.float64],
        X: Rows,
        rng: np.random.Generator,
    ) -> Ltpu:
        plain = cls(kernel, centres, gammas, np.zeros(len(gammas)))
        drawn = np.sort(rng.choice(X.shape[0], min(X.shape[0], _AVERAGED), replace=False))
        return replace(plain, means=plain.transform(X[drawn]).mean(axis=0, dtype=np.float64))

    @property
    def n_features(self) -> int:
        """Number of features of the rows that the map takes."""
        return int(self.centres.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of centres."""
        return int(self.centres.shape[0])

    @property
    def _numbers_per_row(self) -> int:
        return 2 * (self.n_features + self.n_outputs)

    def _write(self, X: Rows, out: NDArray[np.float32]) -> None:
        self._write_values(X, out)
        out -= self.means.astype(np.float32)

    def _write_values(self, X: Rows, out: NDArray[np.float32]) -> None:
        X = stored_as(X, self.centres)
        if (self.gammas == self.kernel.gamma).all():
            out[:] = kernel_matrix(self.kernel, X, self.centres)
            return
        # -gamma_j |x - c_j|^2 in float64, which the difference of large squares asks for.
        X, C = X.astype(np.float64), self.centres.astype(np.float64)
        products = X @ C.T
        exponents = products.toarray() if is_sparse(products) else products
        exponents *= 2
        exponents -= squared_norms(X)[:, None]
        exponents -= squared_norms(C)
        exponents *= self.gammas
        np.clip(exponents, _LOWEST, 0, out=exponents)
        np.exp(exponents.astype(np.float32), out=out)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return centres_to_arrays("centres", self.centres) | {
            "gammas": self.gammas,
            "means": self.means,
        }

    @classmethod
    def _restore(cls, kernel: Kernel, arrays: dict[str, NDArray[Any]], n_features: int) -> Ltpu:
        centres = centres_from_arrays("centres", arrays, n_features)
        return cls(kernel, centres, arrays["gammas"], arrays["means"])


def _squared_distances(C: Rows) -> NDArray[np.float64]:
    """Return |c_i - c_j|^2 for all pairs, 0 where i = j."""
    C, squares = C.astype(np.float64), squared_norms(C)
    products = C @ C.T
    products = products.toarray() if is_sparse(products) else products
    distances = np.maximum(squares[:, None] + squares - 2 * products, 0)
    np.fill_diagonal(distances, 0)
    return np.asarray(distances)
