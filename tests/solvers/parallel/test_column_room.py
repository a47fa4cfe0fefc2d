"""The memory of a process for kernel columns: shares divide it, products stay the same."""

from __future__ import annotations

import gc
import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.kernels import ColumnCache, Kernel
from dcsvm_dask.kernels.column_cache import MOST_PIECE, piece_of
from dcsvm_dask.solvers.parallel import ShareRows
from dcsvm_dask.solvers.parallel.column_room import ColumnRoom
from dcsvm_dask.tasks import Classification

MIB = 1 << 20
RBF = Kernel("rbf", gamma=0.01)


class Member:
    pass


@pytest.fixture(name="X")
def rows() -> np.ndarray:
    return np.random.default_rng(0).random((600, 128), dtype=np.float32)


@pytest.fixture(autouse=True)
def _alone() -> None:
    gc.collect()  # shares of other tests


def test_members_take_all_of_it_and_never_more() -> None:
    room = ColumnRoom()
    members = [Member()]
    room.enter(members[0])
    taken = {0: room.of(members[0], 12 * MIB)}
    assert taken[0] == 12 * MIB
    for i in range(1, 4):
        members.append(Member())
        room.enter(members[i])
    for _ in range(3):
        for i in reversed(range(4)):
            taken[i] = room.of(members[i], 12 * MIB)
            assert sum(taken.values()) <= 12 * MIB
    assert list(taken.values()) == [3 * MIB] * 4
    del members[2:]
    for _ in range(2):
        assert [room.of(one, 12 * MIB) for one in members] == [6 * MIB] * 2


def test_a_part_that_would_hardly_grow_stays() -> None:
    room, members = ColumnRoom(), [Member() for _ in range(6)]
    for one in members:
        room.enter(one)
    before = [room.of(one, 60) for one in members]
    members.pop()
    assert [room.of(one, 60) for one in members] == before[:5]


def shares(X: np.ndarray, count: int, n_bytes: int) -> list[ShareRows]:
    dual = Classification().dual(np.where(X[:, 0] > 0.5, 1.0, -1.0), np.ones(len(X)))
    ends = [len(X) * part // count for part in range(count + 1)]
    return [ShareRows(RBF, X[a:b], dual[a:b], a, cache_bytes=n_bytes) for a, b in pairwise(ends)]


def products(rows: list[ShareRows], X: np.ndarray) -> np.ndarray:
    draw = np.random.default_rng(1)
    found = []
    for _ in range(3):
        index = np.sort(draw.choice(300, 200, replace=False))
        w = draw.normal(size=200)
        found.append(np.concatenate([one.product(index, X[index], w) for one in rows]))
    return np.concatenate(found)


def test_shares_of_a_process_keep_as_much_as_one_would(X: np.ndarray) -> None:
    of_row = 4 * (len(X) + 2 * X.shape[1])  # of a column, and of its row in each share
    few, many = shares(X, 2, 300 * of_row), shares(X, 2, 0)
    wanted = products(many, X)
    assert all(one.columns[1] == one.columns[0] for one in many)
    del many
    gc.collect()
    np.testing.assert_array_equal(products(few, X), wanted)
    np.testing.assert_array_equal(products(few, X), wanted)
    # All 300 columns that ever come fit, so that each is computed once.
    used, made = few[0].columns
    assert used == 1200
    assert made <= 300


def test_a_share_that_is_sent_enters_where_it_arrives(X: np.ndarray) -> None:
    (one,) = shares(X, 1, MIB)
    wanted = products([one], X)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(products([again], X), wanted)
    assert again.columns[0] == one.columns[0]


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_sums_do_not_depend_on_pieces(
    form: str, X: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = X if form == "dense" else sparse.csr_array(np.where(X > 0.8, X, np.float32(0.0)))
    index = np.arange(370)
    w = np.random.default_rng(2).normal(size=370)
    wanted = ColumnCache(RBF, stored, 0).product(index, stored[:370], w)
    for piece in (32, 100, 256):
        monkeypatch.setattr(
            "dcsvm_dask.kernels.column_cache.piece_of", lambda n, piece=piece: piece
        )
        for n_bytes in (0, 8 * MIB):
            found = ColumnCache(RBF, stored, n_bytes).product(index, stored[:370], w)
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("n", [1, 100, 2048, 4500, 10_000, 16_000, 1_000_000])
def test_pieces_are_whole_fours(n: int) -> None:
    assert piece_of(n) % 4 == 0
    assert 32 <= piece_of(n) <= MOST_PIECE
