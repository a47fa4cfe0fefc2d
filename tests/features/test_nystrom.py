"""The Nystrom approximation against scikit-learn's, and where it is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels

from dcsvm_dask.errors import InputError
from dcsvm_dask.features import Nystrom
from dcsvm_dask.kernels import Kernel, kernel_product

KERNELS = {
    "rbf": Kernel("rbf", gamma=0.5),
    "rbf sharp": Kernel("rbf", gamma=32.0),
    "rbf smooth": Kernel("rbf", gamma=0.01),
    "poly": Kernel("poly", gamma=0.1, degree=3, coef0=1.0),
    "linear": Kernel("linear"),
    "laplacian": Kernel("laplacian", gamma=0.2),
}


@pytest.fixture(params=list(KERNELS))
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]


def theirs(kernel: Kernel) -> dict[str, Any]:
    """scikit-learn's names of the parameters that the kernel uses."""
    used = {"rbf": ("gamma",), "laplacian": ("gamma",), "poly": ("gamma", "degree", "coef0")}
    return {name: getattr(kernel, name) for name in used.get(kernel.name, ())}


def exact(kernel: Kernel, X: Any) -> Any:
    return pairwise_kernels(X.astype(np.float64), metric=kernel.name, **theirs(kernel))


def is_near(approximation: Any, wanted: Any) -> bool:
    """Whether kernel values agree to 1e-5 of the largest."""
    return bool(abs(approximation - wanted).max() <= 1e-5 * max(1, abs(wanted).max()))


def test_same_landmarks_give_scikit_learns_kernel(kernel: Kernel, rows: Any, covtype: Any) -> None:
    reference = Nystroem(
        kernel=kernel.name, n_components=150, random_state=0, **theirs(kernel)
    ).fit(covtype.astype(np.float64))
    ours = Nystrom.of_landmarks(kernel, rows[reference.component_indices_])
    Z = ours.transform(rows)
    assert Z.dtype == np.float32
    assert Z.shape == (1200, ours.n_outputs)
    Z_theirs = reference.transform(covtype.astype(np.float64))
    assert is_near(Z @ Z.T, Z_theirs @ Z_theirs.T)


def test_features_are_scikit_learns_up_to_a_rotation(covtype: Any) -> None:
    kernel = KERNELS["rbf"]
    reference = Nystroem(gamma=kernel.gamma, n_components=60, random_state=0).fit(
        covtype.astype(np.float64)
    )
    Z = Nystrom.of_landmarks(kernel, covtype[reference.component_indices_]).transform(covtype)
    Z_theirs = reference.transform(covtype.astype(np.float64))
    left, _, right = np.linalg.svd(Z.T @ Z_theirs)
    np.testing.assert_allclose(Z @ (left @ right), Z_theirs, atol=1e-4)


def test_all_rows_as_landmarks_are_exact(kernel: Kernel, covtype: Any) -> None:
    X = covtype[:300]
    ours = Nystrom.fit(kernel, X, 300, np.random.default_rng(0), landmarks="random")
    assert is_near(ours.transform(X) @ ours.transform(X).T, exact(kernel, X))
    if kernel.name == "linear":
        assert ours.n_outputs == np.linalg.matrix_rank(X)


def test_centres_of_k_means_serve_better_than_rows_at_random(rows: Any, covtype: Any) -> None:
    kernel = Kernel("rbf", 2.0)
    K = exact(kernel, covtype)

    def error(how: str) -> float:
        found = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            Z = Nystrom.fit(kernel, rows, 60, rng, landmarks=how).transform(rows)
            found.append(np.linalg.norm(Z @ Z.T - K))
        return float(np.mean(found))

    assert error("kmeans") < 0.9 * error("random")


def test_fewer_outputs_keep_the_largest_eigenvalues(covtype: Any) -> None:
    kernel, X = Kernel("rbf", 0.5), covtype[:200]
    values, vectors = np.linalg.eigh(exact(kernel, X))
    values, vectors = values[::-1][:20], vectors[:, ::-1][:, :20]
    Z = Nystrom.of_landmarks(kernel, X, n_outputs=20).transform(X)
    assert is_near(Z @ Z.T, (vectors * values) @ vectors.T)
    np.testing.assert_allclose(np.sum(Z.astype(np.float64) ** 2, axis=0), values, rtol=1e-4)


def test_small_eigenvalues_are_dropped_by_their_part_of_the_largest(covtype: Any) -> None:
    kernel, X = Kernel("rbf", 0.5), covtype[:200]
    values = np.linalg.eigvalsh(exact(kernel, X))
    for least in (1e-2, 1e-4, 1e-6):
        kept = Nystrom.of_landmarks(kernel, X, least=least).n_outputs
        assert kept == np.count_nonzero(values > least * values[-1])


def test_repeated_landmarks_add_nothing(covtype: Any) -> None:
    kernel, X = Kernel("rbf", 0.5), covtype[:50]
    ours = Nystrom.of_landmarks(kernel, np.concatenate([X, X]))
    assert ours.n_outputs == 50
    Z = ours.transform(X)
    assert is_near(Z @ Z.T, exact(kernel, X))


def test_weights_are_an_expansion_over_the_landmarks(kernel: Kernel, rows: Any) -> None:
    rng = np.random.default_rng(1)
    ours = Nystrom.fit(kernel, rows, 80, rng, least=1e-6)
    for shape in ((ours.n_outputs,), (ours.n_outputs, 3)):
        weights = rng.standard_normal(shape)
        beta = ours.coefficients(weights)
        assert beta.shape == (ours.landmarks.shape[0], *shape[1:])
        for w, b in zip(np.atleast_2d(weights.T), np.atleast_2d(beta.T), strict=True):
            values, _ = kernel_product(kernel, rows, ours.landmarks, b, dtype=np.float64)
            scale = abs(values).max()
            np.testing.assert_allclose(ours.transform(rows) @ w, values, atol=1e-3 * scale)


def test_rows_stored_otherwise_than_landmarks(rows: Any, covtype: Any) -> None:
    ours = Nystrom.fit(Kernel("rbf", 0.5), rows, 40, np.random.default_rng(0))
    for X in (covtype, sparse.csr_array(covtype), sparse.csr_matrix(covtype)):
        np.testing.assert_allclose(ours.transform(X), ours.transform(rows), atol=1e-4)


def test_what_it_cannot_do_is_refused(covtype: Any) -> None:
    rng = np.random.default_rng(0)
    for kernel in (Kernel("sigmoid"), Kernel("poly", coef0=-1.0)):
        with pytest.raises(InputError, match=f"positive semi-definite kernel, which {kernel.name}"):
            Nystrom.fit(kernel, covtype, 10, rng)
    rbf = Kernel("rbf")
    with pytest.raises(InputError, match="at least 1"):
        Nystrom.fit(rbf, covtype, 0, rng)
    with pytest.raises(InputError, match="choose kmeans or random"):
        Nystrom.fit(rbf, covtype, 10, rng, landmarks="grid")
    with pytest.raises(InputError, match="no rows"):
        Nystrom.fit(rbf, covtype[:0], 10, rng)
    with pytest.raises(InputError, match="at least 1"):
        Nystrom.fit(rbf, covtype, 10, rng, n_outputs=0)
    with pytest.raises(InputError, match="between 0 and 1"):
        Nystrom.fit(rbf, covtype, 10, rng, least=0.0)
    with pytest.raises(InputError, match="0 between all landmarks"):
        Nystrom.of_landmarks(Kernel("linear"), np.zeros((3, 2), np.float32))
    wide = sparse.csr_array((5, 10_000_000), dtype=np.float32)
    with pytest.raises(InputError, match="ask for at most 6, or take landmarks at random"):
        Nystrom.fit(rbf, wide, 100, rng)
    made = Nystrom.fit(rbf, covtype, 10, rng)
    with pytest.raises(InputError, match="one for each of"):
        made.coefficients(np.ones(11))
