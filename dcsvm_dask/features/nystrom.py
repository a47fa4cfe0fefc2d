"""The Nystrom approximation: features by the kernel values with a few landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
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
from dcsvm_dask.kernels import Kernel, Rows, kernel_diagonal, kernel_matrix

LEAST = 1e-12
"""Eigenvalues below this part of the largest are taken for rounding of zero."""

_FLOAT32_WILL_DO = 2.0**18


@dataclass(frozen=True, eq=False)
class Nystrom(FeatureMap):
    """z(x) = S^-1/2 U' K(L, x), with landmarks L and K(L, L) = U S U'.

    z(x)'z(x') = K(x, L) K(L, L)^+ K(L, x'): exact where x or x' is a landmark (Williams and
    Seeger, NIPS 2000). With centres of k-means as landmarks and a linear SVM on z this is
    LLSVM (Zhang, Lan, Wang and Moerchen, AISTATS 2012). Such an SVM is a kernel expansion
    over the landmarks; see `coefficients`.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    landmarks : ndarray or CSR, shape (m, d), float32
    whitening : ndarray, shape (m, n_outputs), float64
        U S^-1/2, largest eigenvalues first.
    """

    rule = "nystrom"

    kernel: Kernel
    landmarks: Rows
    whitening: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_centres("landmarks", self.landmarks)
        check_numbers("whitening", self.whitening, (self.landmarks.shape[0], None), np.float64)

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        X: Rows,
        n_landmarks: int,
        rng: np.random.Generator,
        *,
        landmarks: str = "kmeans",
        n_outputs: int | None = None,
        least: float = LEAST,
    ) -> Nystrom:
        """Choose landmarks for the rows X and decompose their kernel matrix.

        Parameters
        ----------
        kernel : Kernel
        X : ndarray or CSR, shape (n, d), float32
            Of k-means at most 20 n_landmarks rows take part.
        n_landmarks : int
            Fewer are taken where X has fewer (distinct) rows.
        rng : numpy.random.Generator
        landmarks : {"kmeans", "random"}
        n_outputs, least
            See `of_landmarks`.

        Raises
        ------
        InputError
            If the kernel is not positive semi-definite, or a parameter is outside its range.
        """
        _check_kernel(kernel)
        chosen = choose_centres(X, n_landmarks, rng, landmarks)
        return cls.of_landmarks(kernel, chosen, n_outputs=n_outputs, least=least)

    @classmethod
    def of_landmarks(
        cls, kernel: Kernel, landmarks: Rows, *, n_outputs: int | None = None, least: float = LEAST
    ) -> Nystrom:
        """Decompose the kernel matrix of given landmarks, in float64.

        Parameters
        ----------
        kernel : Kernel
        landmarks : ndarray or CSR, shape (m, d), float32
        n_outputs : int, optional
            Most eigenvalues to keep; m by default.
        least : float, default 1e-12
            Eigenvalues below this part of the largest are dropped. From about 1e-6 (it depends
            on the kernel) float32 products will do in `transform`, which are twice as fast.

        Raises
        ------
        InputError
            If the kernel is not positive semi-definite, or a parameter is outside its range.
        """
        _check_kernel(kernel)
        check_centres("landmarks", landmarks)
        most = landmarks.shape[0] if n_outputs is None else n_outputs
        if most < 1:
            raise InputError(f"n_outputs is {most}; give at least 1.")
        if not 0 < least < 1:
            raise InputError(f"least is {least!r:.80}; give a number between 0 and 1.")
        K = kernel_matrix(kernel, landmarks, dtype=np.float64)
        if not np.isfinite(K).all():
            raise InputError(
                f"the {kernel.name} kernel has values that are not finite between landmarks;"
                " scale the features, or lower gamma or degree."
            )
        values, vectors = scipy.linalg.eigh(K, overwrite_a=True, check_finite=False)
        values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
        kept = int(np.count_nonzero(values > least * values[0])) if values[0] > 0 else 0
        if kept == 0:
            raise InputError("the kernel is 0 between all landmarks; take more or other ones.")
        return cls(kernel, landmarks, vectors[:, :kept] / np.sqrt(values[:kept]))

    @property
    def n_features(self) -> int:
        """Number of features of the rows that the map takes."""
        return int(self.landmarks.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of eigenvalues that were kept."""
        return int(self.whitening.shape[1])

    def coefficients(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """Return the kernel expansion that weights over the features stand for.

        w'z(x) = sum_j beta_j K(x, l_j) with beta = U S^-1/2 w, for every row x.

        Parameters
        ----------
        weights : ndarray, shape (n_outputs,) or (n_outputs, n_machines)

        Returns
        -------
        ndarray, shape (m,) or (m, n_machines), float64
        """
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim not in (1, 2) or weights.shape[0] != self.n_outputs:
            raise InputError(
                f"weights of shape {weights.shape}; give one for each of {self.n_outputs} features."
            )
        return np.asarray(self.whitening @ weights)

    @cached_property
    def _factor(self) -> NDArray[Any]:
        """The whitening in the precision that the products need.

        Errors e of kernel values become errors of squared length e^2 sum_j 1 / s_j in z. Up to
        2^18 for the sum times mean K_ii, z(x)'z(x') was seen to be right to 1e-5 in float32.
        """
        amplified = np.sum(self.whitening**2) * kernel_diagonal(self.kernel, self.landmarks).mean()
        dtype = np.float32 if amplified <= _FLOAT32_WILL_DO else np.float64
        # One order in memory, fresh or stored: BLAS rounds by it.
        return np.ascontiguousarray(self.whitening, dtype=dtype)

    @property
    def _numbers_per_row(self) -> int:
        return 2 * self.landmarks.shape[0] + self.n_features

    def _write(self, X: Rows, out: NDArray[np.float32]) -> None:
        factor = self._factor
        X = stored_as(X, self.landmarks)
        K = kernel_matrix(self.kernel, X, self.landmarks, dtype=factor.dtype)
        with np.errstate(invalid="ignore", over="ignore"):  # reported by `transform`
            out[:] = K @ factor

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return centres_to_arrays("landmarks", self.landmarks) | {"whitening": self.whitening}

    @classmethod
    def _restore(cls, kernel: Kernel, arrays: dict[str, NDArray[Any]], n_features: int) -> Nystrom:
        landmarks = centres_from_arrays("landmarks", arrays, n_features)
        return cls(kernel, landmarks, arrays["whitening"])


def _check_kernel(kernel: Kernel) -> None:
    if not kernel.is_psd:
        raise InputError(
            f"the Nystrom approximation needs a positive semi-definite kernel, which {kernel.name}"
            " is not with these parameters; choose rbf, laplacian, linear, or poly with coef0 >= 0."
        )
