"""Fastfood: random Fourier features by Hadamard transforms instead of a matrix product.

The fast Walsh-Hadamard transform, and the structured products of Fastfood made of it.

Rows come feature by feature, T of shape (2^k, rows), so that every innermost loop runs over
rows: it vectorises at all strides, and what a row gets does not depend on its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.errors import InputError
from dcsvm_dask.features.feature_map import FeatureMap, check_numbers
from dcsvm_dask.features.fourier import Fourier, count_frequencies, to_waves
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kernels_with_map
from dcsvm_dask.kernels.vectors import LOOP_FLAGS, prefer_wide_vectors

TILE = 1 << 12
"""Numbers of a tile of rows (16 KiB): two of them stay in the cache near the core."""


@njit(cache=True, nogil=True, fastmath=LOOP_FLAGS)
def walsh_hadamard(T: Any) -> None:
    """Multiply T, shape (2^k, rows), by the Hadamard matrix of Sylvester's order, in place.

    The matrix is scipy.linalg.hadamard(2^k), its entries 1 and -1: k 2^k additions a row. Two
    steps are taken at a time, which halves the traffic.
    """
    prefer_wide_vectors()
    p, rows = T.shape
    h = 1
    if p > 1 and (p & 0x5555555555555555) == 0:  # k is odd: one step by itself
        for i in range(0, p, 2):
            for r in range(rows):
                a, b = T[i, r], T[i + 1, r]
                T[i, r] = a + b
                T[i + 1, r] = a - b
        h = 2
    while h < p:
        for i in range(0, p, 4 * h):
            for j in range(i, i + h):
                for r in range(rows):
                    a, b, c, d = T[j, r], T[j + h, r], T[j + 2 * h, r], T[j + 3 * h, r]
                    ab, a_b, cd, c_d = a + b, a - b, c + d, c - d
                    T[j, r] = ab + cd
                    T[j + h, r] = a_b + c_d
                    T[j + 2 * h, r] = ab - cd
                    T[j + 3 * h, r] = a_b - c_d
        h *= 4


@njit(cache=True, nogil=True, fastmath=LOOP_FLAGS)
def fastfood_products(
    X: Any, signs: Any, order: Any, factors: Any, lengths: Any, out: Any, first: Any
) -> None:
    """out[i, first + b p + k] = (S H G Pi H B x_i)_k for every block b of p coordinates.

    B = diag(signs[b]), Pi takes coordinate order[b, k] to k, G = diag(factors[b]) and S is
    diag(lengths[b p : (b + 1) p]); the last block may be cut short.
    """
    n, d = X.shape
    blocks, p = order.shape
    rows = max(16, TILE // p)
    given = np.zeros((d, rows), np.float32)
    T = np.empty((p, rows), np.float32)
    U = np.empty((p, rows), np.float32)
    for start in range(0, n, rows):
        here = min(rows, n - start)
        for r in range(here):
            for f in range(d):
                given[f, r] = X[start + r, f]
        for b in range(blocks):
            scale_rows(given, signs[b], T)
            T[d:] = 0
            walsh_hadamard(T)
            for k in range(p):
                scale_row(T[order[b, k]], factors[b, k], U[k])
            walsh_hadamard(U)
            done = b * p
            width = min(p, len(lengths) - done)
            for r in range(here):
                write_column(U, r, lengths[done : done + width], out[start + r], first + done)


@njit(cache=True, nogil=True, fastmath=LOOP_FLAGS)
def scale_rows(given: Any, scale: Any, T: Any) -> None:
    """Write given[f] times scale[f] into T[f]."""
    for f in range(len(scale)):
        scale_row(given[f], scale[f], T[f])


@njit(cache=True, nogil=True, fastmath=LOOP_FLAGS)
def scale_row(given: Any, scale: Any, out: Any) -> None:
    """Write given times scale into out."""
    for r in range(len(out)):
        out[r] = given[r] * scale


@njit(cache=True, nogil=True, fastmath=LOOP_FLAGS)
def write_column(U: Any, r: Any, scale: Any, out: Any, first: Any) -> None:
    """Write U[k, r] times scale[k] into out[first + k]."""
    for k in range(len(scale)):
        out[first + k] = U[k, r] * scale[k]


_NAMES = ("signs", "order", "factors", "lengths")


@dataclass(frozen=True, eq=False)
class Fastfood(FeatureMap):
    """The features of `Fourier` at frequencies that are rows of sqrt(2 gamma / p) S H G Pi H B.

    p is the number of features padded to a power of two, H the Walsh-Hadamard matrix of that
    order; B holds random signs, Pi permutes, G is normal, and S gives the rows lengths of normal
    vectors of p numbers (Le, Sarlos and Smola, ICML 2013). Each frequency by itself is normal, so
    that the mean of z(x)'z(x') is K(x, x'); those of one block of p depend on one another, which
    on real rows of 54 features adds a third to the variance. A frequency costs 2 log2 p additions
    instead of d products, and three numbers of memory instead of d: it is for many features.

    Parameters
    ----------
    kernel : Kernel
        rbf.
    signs : ndarray, shape (blocks, d), float32
        Diagonal of B; what is padded needs none.
    order : ndarray, shape (blocks, p), int32
        Pi: coordinate k comes from order[k].
    factors : ndarray, shape (blocks, p), float32
        Diagonal of G.
    lengths : ndarray, shape (F,), float32
        Diagonal of sqrt(2 gamma / p) S, block after block; the last may be cut short.
    """

    rule = "fastfood"

    kernel: Kernel
    signs: NDArray[np.float32]
    order: NDArray[np.int32]
    factors: NDArray[np.float32]
    lengths: NDArray[np.float32]

    def __post_init__(self) -> None:
        if not self.kernel.has_map(self.rule):
            known = kernels_with_map(self.rule)
            others = [name for name in kernels_with_map(Fourier.rule) if name not in known]
            raise InputError(
                f"Fastfood exists for the {' and '.join(known)} kernel, not for"
                f" {self.kernel.name}; take random Fourier features ({', '.join(others)}) or the"
                " Nystrom approximation."
            )
        check_numbers("signs", self.signs, (None, None), np.float32)
        blocks, d = self.signs.shape
        p = padded(d)
        check_numbers("order", self.order, (blocks, p), np.int32)
        check_numbers("factors", self.factors, (blocks, p), np.float32)
        check_numbers("lengths", self.lengths, (None,), np.float32)
        # Compiled code trusts these.
        if not (np.sort(self.order, axis=1) == np.arange(p)).all():
            raise InputError("not a feature map: its order is not a permutation.")
        if not (blocks - 1) * p < len(self.lengths) <= blocks * p:
            raise InputError(f"not a feature map: {len(self.lengths)} lengths, {blocks} blocks.")

    @classmethod
    def draw(
        cls, kernel: Kernel, n_features: int, n_outputs: int, rng: np.random.Generator
    ) -> Fastfood:
        """Draw the blocks for rows of `n_features`.

        Parameters
        ----------
        kernel : Kernel
            rbf.
        n_features : int
        n_outputs : int
            Even: a cosine and a sine for each frequency. Multiples of 2 p waste nothing.
        rng : numpy.random.Generator

        Raises
        ------
        InputError
            If the kernel is another, or n_outputs is not an even number from 2.
        """
        frequencies, p = count_frequencies(n_outputs), padded(n_features)
        blocks = -(-frequencies // p)
        signs = 1 - 2 * rng.integers(2, size=(blocks, n_features))
        order = rng.permuted(np.tile(np.arange(p, dtype=np.int32), (blocks, 1)), axis=1)
        factors = rng.standard_normal((blocks, p)).astype(np.float32)
        # Every row of H G Pi H has the length sqrt(p) |G|.
        drawn = np.sqrt(rng.chisquare(p, size=(blocks, p)))
        lengths = np.sqrt(2 * kernel.gamma / p) * drawn
        lengths /= np.linalg.norm(factors.astype(np.float64), axis=1, keepdims=True)
        with np.errstate(over="ignore"):  # refused by the constructor
            short = lengths.ravel()[:frequencies].astype(np.float32)
        return cls(kernel, signs.astype(np.float32), order, factors, short)

    @property
    def n_features(self) -> int:
        """Number of features of the rows that the map takes."""
        return int(self.signs.shape[1])

    @property
    def n_outputs(self) -> int:
        """Twice the number of frequencies."""
        return 2 * len(self.lengths)

    @property
    def _numbers_per_row(self) -> int:
        return self.n_features + self.n_outputs

    def _write(self, X: Rows, out: NDArray[np.float32]) -> None:
        rows = X.toarray() if is_sparse(X) else X
        fastfood_products(
            rows, self.signs, self.order, self.factors, self.lengths, out, len(self.lengths)
        )
        to_waves(out)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in _NAMES}

    @classmethod
    def _restore(cls, kernel: Kernel, arrays: dict[str, NDArray[Any]], n_features: int) -> Fastfood:
        del n_features
        return cls(kernel, *(arrays[name] for name in _NAMES))


def padded(n_features: int) -> int:
    """Return the smallest power of two that is not below."""
    return 1 << (max(n_features, 1) - 1).bit_length()
