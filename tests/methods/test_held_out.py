"""What a search knows of all variables: the rows that stand for others, and weights by fold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from time import sleep
from typing import Any

import numpy as np
import pytest

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.methods.search.held_out import HeldOut
from tests.typical import SETTINGS

N, CLASSES, FOLDS = 3000, 3, 4


class Rows:
    """Rows in memory that tell how many were taken at a time."""

    def __init__(self) -> None:
        self.X = np.random.default_rng(0).random((N, 2)).astype(np.float32)
        self.taken: list[int] = []

    def take(self, index: Any) -> Any:
        self.taken.append(len(index))
        sleep(0.05)
        return self.X[index]


def held_out(blocks: int) -> HeldOut:
    rng = np.random.default_rng(1)
    X: Any = Rows()
    problem = Problem(SETTINGS, X, np.ones(N), lambda: np.arange(N), np.ones(N))
    return HeldOut(
        problem,
        rng.integers(0, CLASSES, N).astype(np.int32),
        rng.random(N),
        rng.integers(0, FOLDS, N).astype(np.int16),
        None,
        np.empty(0, dtype=np.int32),
        None,
        np.array_split(rng.permutation(N), blocks),
        CLASSES,
    )


@pytest.mark.parametrize(("blocks", "times"), [(6, 1), (1, 0)])
def test_tasks_beside_each_other_read_a_sample_once(blocks: int, times: int) -> None:
    held, begin = held_out(blocks), Barrier(3)

    def work(_: int) -> Any:
        begin.wait()
        return held.weighted_sample(Kernel("rbf", 1e-3))

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(work, range(3)))
    rows: Any = held.problem.X
    assert sum(many > 0 for many in rows.taken) == times
    for index, X in found:
        assert len(index) == len(X) == times * (N // blocks // 2)
        np.testing.assert_array_equal(X, rows.X[index])


def test_weights_of_folds_are_those_of_what_they_train_on() -> None:
    held = held_out(6)
    for fold, found in enumerate(held.weights_of_folds):
        rows = held.fold != fold
        wanted = np.bincount(held.codes[rows], held.weight[rows], minlength=CLASSES)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    all_train = replace(held, fold=np.full(N, -1, dtype=np.int16))
    wanted = np.bincount(held.codes, held.weight, minlength=CLASSES)
    np.testing.assert_allclose(all_train.weights_of_folds, [wanted], rtol=1e-12)
