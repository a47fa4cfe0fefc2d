"""Products with columns that are kept: those of scikit-learn, the same bits whatever is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.kernels import ColumnCache, column_cache
from tests.kernels.conftest import KERNELS

Exact = Callable[..., NDArray[np.float64]]
ROWS, MANY = 150, 60
ENOUGH = 1 << 24


@pytest.fixture(scope="module", autouse=True)
def _small_pieces() -> Iterator[None]:
    """Let few rows have several tiles, strips and pieces of columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_cache, "MOST_PIECE", 8)
        patch.setattr(column_cache, "TILE_ROWS", 32)
        patch.setattr(column_cache, "STRIP", 64)
        yield


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    """Give rows by how they are stored: those of large radius have tiles in float64."""
    rng = np.random.default_rng(3)
    few, many = rng.standard_normal((ROWS, 5)), rng.standard_normal((ROWS, 130))
    thin = sparse.random_array((ROWS, 400), density=0.02, rng=rng, format="csr", dtype=np.float32)
    return {
        "few": few.astype(np.float32),
        "many": (0.3 * many).astype(np.float32),
        "sparse": sparse.csr_array(thin),
        "wide": sparse.csr_array(np.float32(1e4) + few.astype(np.float32)),
    }


def columns_of(cache: ColumnCache, X: Any, index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return columns, each found by a weight of 1 in the company of the others."""
    return np.stack([cache.product(index, X[index], one) for one in np.eye(len(index))], axis=1)


@pytest.mark.parametrize(
    ("how", "name"),
    [
        *((how, name) for how in ("few", "many", "sparse") for name in KERNELS),
        ("wide", "rbf"),
        ("wide", "laplacian"),
    ],
)
def test_products_are_those_of_scikit_learn(
    how: str, name: str, stored: dict[str, Any], exact: Exact
) -> None:
    X, kernel = stored[how], KERNELS[name]
    rng = np.random.default_rng(0)
    index = rng.permutation(ROWS)[:MANY]
    w = rng.standard_normal(MANY)
    K = exact(kernel, X, X[index])
    found = ColumnCache(kernel, X, 0).product(index, X[index], w)
    np.testing.assert_allclose(found, K @ w, rtol=1e-5, atol=2e-5 * np.abs(K).max())


def test_rows_of_large_radius_have_tiles_in_float64(stored: dict[str, Any]) -> None:
    cache = ColumnCache(KERNELS["rbf"], stored["wide"], 0)
    assert {tile.dtype for tile in cache._tiles(False)} == {np.dtype(np.float64)}


@pytest.mark.parametrize("name", ["covtype", "a9a", "news20"])
def test_products_of_real_rows_are_those_of_scikit_learn(
    name: str, exact: Exact, request: pytest.FixtureRequest
) -> None:
    X, kernel = request.getfixturevalue(name)[:680], KERNELS["rbf"]
    n = X.shape[0]
    index = np.random.default_rng(1).permutation(n)[:100]
    w = np.random.default_rng(2).standard_normal(100)
    expected = exact(kernel, X, X[index]) @ w
    cache = ColumnCache(kernel, X, 4 * n * 50)
    for _ in range(3):
        np.testing.assert_allclose(cache.product(index, X[index], w), expected, atol=1e-4)


@st.composite
def histories(draw: st.DrawFn) -> list[NDArray[np.int64]]:
    """Give the columns of some products, ascending."""
    some = st.sets(st.integers(0, ROWS - 1), max_size=40)
    return [np.array(sorted(one), np.int64) for one in draw(st.lists(some, min_size=1, max_size=6))]


@given(
    how=st.sampled_from(["few", "many", "sparse", "wide"]),
    name=st.sampled_from(["rbf", "laplacian", "linear", "poly"]),
    history=histories(),
    slots=st.sampled_from([0, 7, 8, 9, 20, 41, ROWS]),
    threads=st.integers(1, 3),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=150, deadline=None)
def test_products_are_the_same_bits_whatever_is_kept(
    how: str,
    name: str,
    history: list[NDArray[np.int64]],
    slots: int,
    threads: int,
    seed: int,
    stored: dict[str, Any],
) -> None:
    X, rng = stored[how], np.random.default_rng(seed)
    kept = ColumnCache(KERNELS[name], X, 4 * ROWS * slots)
    used = 0
    for index in history:
        w = rng.standard_normal(len(index))
        found = kept.product(index, X[index], w, threads)
        alone = ColumnCache(KERNELS[name], X, 0).product(index, X[index], w)
        np.testing.assert_array_equal(found, alone)
        used += len(index)
    assert kept.used == used
    assert kept.made <= used
    if slots == ROWS:  # each column is computed once
        assert kept.made == len(set().union(*(index.tolist() for index in history)))


@pytest.mark.parametrize("how", ["few", "many", "sparse", "wide"])
@pytest.mark.parametrize("name", list(KERNELS))
def test_columns_are_the_same_bits_in_any_company(
    how: str, name: str, stored: dict[str, Any]
) -> None:
    X, rng = stored[how], np.random.default_rng(5)
    index = np.sort(rng.permutation(ROWS)[:23])
    together = columns_of(ColumnCache(KERNELS[name], X, 0), X, index)
    cache = ColumnCache(KERNELS[name], X, 4 * ROWS * 30)
    for place in rng.permutation(len(index)):
        one = index[[place]]
        np.testing.assert_array_equal(columns_of(cache, X, one)[:, 0], together[:, place])
    rest = np.sort(rng.permutation(index)[:9])
    places = np.searchsorted(index, rest)
    np.testing.assert_array_equal(columns_of(cache, X, rest), together[:, places])


def test_the_columns_used_least_recently_make_room(stored: dict[str, Any]) -> None:
    X = stored["many"]
    cache = ColumnCache(KERNELS["rbf"], X, 4 * (ROWS + X.shape[1]) * 16)

    def made(first: int, last: int) -> int:
        before, index = cache.made, np.arange(first, last)
        cache.product(index, X[index], np.ones(len(index)))
        return cache.made - before

    assert made(0, 8) == 8
    assert made(8, 16) == 8
    assert made(0, 8) == 0
    assert made(16, 20) == 4  # takes the place of four of 8 to 16
    assert made(0, 8) == 0
    assert made(8, 16) == 4


def test_more_columns_than_there_is_room_for(stored: dict[str, Any]) -> None:
    X = stored["sparse"]
    cache, index = ColumnCache(KERNELS["rbf"], X, 4 * ROWS * 16), np.arange(40)
    first = cache.product(index, X[index], np.ones(40))
    assert cache.made == 40
    again = cache.product(index, X[index], np.ones(40))
    assert cache.made < 80  # what was kept is not computed again
    np.testing.assert_array_equal(first, again)


def test_no_columns_and_one_row() -> None:
    X = np.ones((1, 3), np.float32)
    cache = ColumnCache(KERNELS["rbf"], X, ENOUGH)
    none = np.empty(0, np.int64)
    assert cache.product(none, X[:0], np.empty(0)).tolist() == [0.0]
    assert cache.product(np.array([0]), X, np.array([2.0])).tolist() == [2.0]


def test_memory_is_bounded(stored: dict[str, Any]) -> None:
    X = stored["few"]
    for n_bytes in (0, 4 * ROWS * 7, 4 * ROWS * 100):
        cache = ColumnCache(KERNELS["rbf"], X, n_bytes)
        kept = cache._columns.nbytes + cache._rows.nbytes
        assert kept <= n_bytes + 4 * (ROWS + X.shape[1]) * column_cache.MOST_PIECE
