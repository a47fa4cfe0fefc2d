"""The bound on rounding holds, is not idle, and `tol` is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, kernel_matrix, kernel_product, product_error_bound
from dcsvm_dask.kernels.columns import row_tile
from dcsvm_dask.kernels.sampled_errors import ROWS
from dcsvm_dask.kernels.tiles import SPLIT, DenseTile

WEIGHTS: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "signed": lambda rng, n: rng.uniform(-32, 32, n),
    "one sign": lambda _, n: np.full(n, 32.0),
    "few": lambda rng, n: 32 * rng.choice([-1.0, 1.0], n) * (rng.random(n) < 0.05),
}


@pytest.fixture(scope="session")
def mnist(shared_data: Callable[[str], Any]) -> NDArray[np.float32]:
    """Raw pixels, 0 to 255."""
    return np.asarray(shared_data("mnist")["X_train"][:3000], dtype=np.float32)


def check(kernel: Kernel, X: Any, Z: Any, kind: str, slack: float) -> None:
    v = WEIGHTS[kind](np.random.default_rng(5), Z.shape[0])
    single, _ = kernel_product(kernel, X, Z, v)
    double, _ = kernel_product(kernel, X, Z, v, dtype=np.float64)
    bound = product_error_bound(kernel, X, Z, v)
    error = abs(single - double)
    assert np.all(error <= bound)
    # Tiles that went to float64 make no error worth the name.
    assert bound.max() <= max(slack * error.max(), 1e-9)
    for tol in (1e-3, 1e-5):
        held, computed = kernel_product(kernel, X, Z, v, tol=tol)
        assert abs(held - double).max() <= tol
        assert kernel.is_linear or computed >= X.shape[0] * np.count_nonzero(v)


@pytest.mark.parametrize("kind", list(WEIGHTS))
@pytest.mark.parametrize("power", range(-10, 11, 4))
def test_covtype(covtype: Any, power: int, kind: str) -> None:
    check(Kernel("rbf", 2.0**power), covtype[2000:2512], covtype, kind, 300)


@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_raw_pixels(mnist: Any, kind: str) -> None:
    check(Kernel("rbf", 2.0**-21), mnist[:512], mnist, kind, 300)


@pytest.mark.parametrize("kind", list(WEIGHTS))
@pytest.mark.parametrize(("gamma", "width"), [(0.08, 391), (0.13, 196), (0.2, 98)])
def test_products_of_some_features_at_a_time(
    mnist: Any, gamma: float, width: int, kind: str
) -> None:
    """Of pixels in [0, 1], whose number is no multiple of the parts."""
    X, kernel = np.ascontiguousarray(mnist[:, :781]) / np.float32(255.0), Kernel("rbf", gamma)
    tile = row_tile(kernel, X[:512], np.float32)
    assert tile.how == SPLIT
    assert isinstance(tile.rows, DenseTile)
    assert tile.rows.width == width
    check(kernel, X[:512], X, kind, 1000)
    K = kernel_matrix(kernel, X[:700])
    np.testing.assert_allclose(K, kernel_matrix(kernel, X[:700], dtype=np.float64), atol=2e-6)
    assert row_tile(Kernel("rbf", 0.3), X[:512], np.float32).dtype == np.float64


@pytest.mark.parametrize("name", ["rbf", "laplacian", "sigmoid"])
def test_binary_sparse_rows(a9a: Any, name: str) -> None:
    check(Kernel(name, 2.0**-7), a9a[:300], a9a, "signed", 1000)


# Not on binary rows: their inner products are whole numbers, and exact.
@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear", "poly"])
def test_text(news20: Any, name: str) -> None:
    check(Kernel(name, 0.3, coef0=1.0), news20[:100], news20, "signed", 1000)


def test_tol_computes_again_only_what_needs_it(covtype: Any) -> None:
    v = WEIGHTS["signed"](np.random.default_rng(1), len(covtype))
    kernel = Kernel("rbf", 32.0)
    bound = product_error_bound(kernel, covtype, covtype, v)
    double, _ = kernel_product(kernel, covtype, covtype, v, dtype=np.float64)
    tol = 0.4 * float(np.median(bound))
    found, computed = kernel_product(kernel, covtype, covtype, v, tol=tol)
    assert abs(found - double).max() <= tol
    more = computed / len(covtype) - len(covtype)
    assert ROWS < more < 0.9 * np.count_nonzero(bound > tol)


def test_rows_beyond_doubt_stay_as_they_are(covtype: Any) -> None:
    v = WEIGHTS["signed"](np.random.default_rng(1), len(covtype))
    kernel = Kernel("rbf", 32.0)
    single, once = kernel_product(kernel, covtype, covtype, v)
    double, _ = kernel_product(kernel, covtype, covtype, v, dtype=np.float64)
    tol = 1e-12  # every row is off by more
    ends = np.full(len(covtype), np.inf)
    edge = np.full(len(covtype), np.median(abs(single)))
    held, computed = kernel_product(kernel, covtype, covtype, v, tol=tol, doubt=(-edge, edge))
    clear = abs(single) > edge + product_error_bound(kernel, covtype, covtype, v)
    assert 0.3 < clear.mean() < 0.7
    np.testing.assert_array_equal(held[clear], single[clear])
    assert abs(held[~clear] - double[~clear]).max() <= 1e-9
    assert computed < 1.7 * once
    everything = kernel_product(kernel, covtype, covtype, v, tol=tol, doubt=(-ends, ends))
    assert everything[1] == 2 * once
