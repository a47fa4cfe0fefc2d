"""Fourier features and Fastfood in distribution, on pairs of real rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import hadamard
from scipy.spatial.distance import pdist, squareform
from sklearn.kernel_approximation import RBFSampler

from dcsvm_dask.errors import InputError
from dcsvm_dask.features import Fastfood, FeatureMap, Fourier
from dcsvm_dask.features.fastfood import walsh_hadamard
from dcsvm_dask.kernels import Kernel

Matrix = NDArray[np.float64]
N_ROWS, DRAWS, D = 40, 400, 64
ABOVE = np.triu_indices(N_ROWS, 1)
METRICS = {"rbf": "sqeuclidean", "laplacian": "cityblock"}


def kernel_of(kernel: Kernel, X: Any, times: float = 1.0) -> Matrix:
    """K(x_i, x_j), with all rows multiplied by a number."""
    X = X.astype(np.float64) * times
    return np.exp(-kernel.gamma * squareform(pdist(X, METRICS[kernel.name])))


def errors(draw: Callable[[np.random.Generator], FeatureMap], K: Matrix, X: Any) -> Matrix:
    """Errors of the approximate kernel, of every draw at every pair of different rows."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(DRAWS):
        Z = draw(rng).transform(X).astype(np.float64)
        np.testing.assert_allclose(np.sum(Z**2, axis=1), 1, atol=1e-5)
        found.append((Z @ Z.T - K)[ABOVE])
    return np.array(found)


def check_mean(found: Matrix) -> None:
    """The mean error is 0: at every pair, and over all pairs, within its standard error."""
    deviation = found.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    assert abs(found.mean(axis=0) / deviation).max() < 4.5  # the largest of 780
    of_draws = found.mean(axis=1)
    assert abs(of_draws.mean()) < 3 * of_draws.std(ddof=1) / np.sqrt(DRAWS)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.3), Kernel("laplacian", 0.1)], ids=str)
def test_fourier_has_the_mean_and_the_variance_of_theory(kernel: Kernel, covtype: Any) -> None:
    X = covtype[:N_ROWS]
    K, K2 = kernel_of(kernel, X), kernel_of(kernel, X, 2.0)
    found = errors(lambda rng: Fourier.draw(kernel, 54, D, rng), K, X)
    check_mean(found)
    theory = ((1 + K2 - 2 * K**2) / D)[ABOVE]
    ratio = found.var(axis=0, ddof=1) / theory
    assert 0.92 < ratio.mean() < 1.08
    assert 0.7 < ratio.min() <= ratio.max() < 1.35  # 400 draws: 5 standard errors of 7 %


def test_fastfood_has_the_mean_of_theory_and_a_little_more_variance(covtype: Any) -> None:
    kernel, X = Kernel("rbf", 0.3), covtype[:N_ROWS]
    K = kernel_of(kernel, X)
    found = errors(lambda rng: Fastfood.draw(kernel, 54, 2 * D, rng), K, X)
    check_mean(found)
    independent = ((1 - K**2) ** 2 / (2 * D))[ABOVE]
    variance = found.var(axis=0, ddof=1)
    assert 1.0 < variance.mean() / independent.mean() < 1.5
    # Theorem of Le, Sarlos and Smola on the frequencies of one block, v = |x - x'| / sigma.
    v2 = -2 * np.log(K[ABOVE])
    bound = ((1 - np.exp(-v2)) ** 2 / 2 + 6 * v2**2 * (np.exp(-v2) + v2 / 3)) / D
    assert (variance < bound).all()


def test_errors_are_below_those_of_scikit_learn(covtype: Any) -> None:
    kernel, X = Kernel("rbf", 0.3), covtype[:300]
    K = kernel_of(kernel, X)

    def error(Z: Any) -> float:
        return float(np.sqrt(np.mean((Z @ Z.T - K) ** 2)))

    # Theirs are cosines with offsets: more variance, by (K^2 - K^4 / 2) / 512, and on the diagonal.
    ours, theirs = [], []
    for seed in range(8):
        made = Fourier.draw(kernel, 54, 512, np.random.default_rng(seed))
        ours.append(error(made.transform(X)))
        sampler = RBFSampler(gamma=kernel.gamma, n_components=512, random_state=seed)
        theirs.append(error(sampler.fit_transform(X.astype(np.float64))))
    assert np.mean(ours) < np.mean(theirs)


@pytest.mark.parametrize("k", range(9))
@pytest.mark.parametrize("n_rows", [1, 3, 16, 37])
def test_the_walsh_hadamard_transform(k: int, n_rows: int) -> None:
    T = np.random.default_rng(k).integers(-9, 9, (2**k, n_rows)).astype(np.float32)
    wanted = hadamard(2**k) @ T
    walsh_hadamard(T)
    np.testing.assert_array_equal(T, wanted)


@pytest.mark.parametrize(("d", "n_outputs"), [(1, 2), (1, 6), (5, 30), (54, 128), (54, 300)])
def test_fastfood_is_the_product_of_its_matrices(d: int, n_outputs: int) -> None:
    rng = np.random.default_rng(d)
    made = Fastfood.draw(Kernel("rbf", 0.7), d, n_outputs, rng)
    X = rng.standard_normal((83, d)).astype(np.float32)
    blocks, p = made.order.shape
    H = hadamard(p).astype(np.float64)
    padded = np.pad(X.astype(np.float64), ((0, 0), (0, p - d)))
    phases = []
    for b in range(blocks):
        B = np.pad(made.signs[b], (0, p - d))
        assert set(made.signs[b]) <= {1, -1}
        mixed = made.factors[b] * (padded * B @ H)[:, made.order[b]]
        phases.append(mixed @ H)
    P = np.hstack(phases)[:, : n_outputs // 2] * made.lengths
    wanted = np.hstack([np.cos(P), np.sin(P)]) / np.sqrt(n_outputs // 2)
    np.testing.assert_allclose(made.transform(X), wanted, atol=1e-5)


@pytest.mark.parametrize("kind", [Fourier, Fastfood])
def test_sparse_rows_have_the_features_of_dense_ones(kind: Any, covtype: Any) -> None:
    made = kind.draw(Kernel("rbf", 0.5), 54, 200, np.random.default_rng(0))
    Z = made.transform(sparse.csr_array(covtype))
    np.testing.assert_allclose(Z, made.transform(covtype), atol=1e-6)


@pytest.mark.parametrize("kind", [Fourier, Fastfood])
def test_what_they_cannot_do_is_refused(kind: Any) -> None:
    rng = np.random.default_rng(0)
    for name in ("poly", "linear", "sigmoid"):
        with pytest.raises(InputError, match=f"not for {name}"):
            kind.draw(Kernel(name), 5, 10, rng)
    for n_outputs in (0, 7, -2):
        with pytest.raises(InputError, match="even number from 2"):
            kind.draw(Kernel("rbf"), 5, n_outputs, rng)
    with pytest.raises(InputError, match="not finite"):
        kind.draw(Kernel("rbf", 1e300), 5, 10, rng)


def test_fastfood_refuses_the_laplacian_kernel() -> None:
    with pytest.raises(InputError, match="not for laplacian"):
        Fastfood.draw(Kernel("laplacian"), 5, 10, np.random.default_rng(0))
