"""Joining the steps of blocks: exact, and with one share of the products in memory at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.methods.conquer import point as select
from dcsvm_dask.methods.conquer.rounds import forms
from dcsvm_dask.methods.dcsvm import conquering
from dcsvm_dask.methods.dcsvm import graph as dcsvm_graph
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.runtime.execution import Execution


@pytest.mark.parametrize("parts", [1, 3, 7, 300])
def test_the_quadratic_form_is_that_of_all_products_at_once(parts: int) -> None:
    rng = np.random.default_rng(parts)
    n, sizes = 200, [30, 0, 25, 1]
    at = np.concatenate(
        [np.sort(block) for block in np.split(rng.permutation(n), [30, 30, 55, 56])][:4]
    ).astype(np.int64)
    groups = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    signed, F = rng.normal(size=len(at)), rng.normal(size=(n, len(sizes)))
    dense = np.zeros((len(sizes), n))
    for block in range(len(sizes)):
        mine = slice(groups[block], groups[block + 1])
        dense[block, at[mine]] = signed[mine]
    variables = np.sort(rng.choice(10 * n, n, replace=False))  # of a chain on some of them
    shares = [slice(*share(n, part, parts)) for part in range(parts)]
    found = sum(forms(F[s], variables[s], variables[at], signed, groups) for s in shares)
    np.testing.assert_allclose(found, dense @ F, rtol=1e-12, atol=1e-12)


def test_the_number_of_blocks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    reach = np.arange(1000.0)
    blocks = [np.array([i]) for i in np.random.default_rng(0).permutation(1000)]
    monkeypatch.setattr(select, "bisect", lambda *_: blocks)

    class Few:
        size = boxes = None

        class settings:  # noqa: N801
            seed, block_cap = 0, 1

        @staticmethod
        def take(rows: object) -> object:
            return rows

    rows = np.arange(1000)
    found = select._clusters(Few, rows, rows, reach, 0, 1e-3)  # type: ignore[arg-type]
    assert sorted(int(block[0]) for block in found) == [*range(1000 - select.MOST_BLOCKS + 1, 1000)]


@pytest.mark.long
def test_what_a_factor_leaves_of_the_way_to_a_bound_is_gone(
    shared_data: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would count as a violation, and be too little to move: rounds came to no end by it."""
    monkeypatch.setattr(dcsvm_graph, "SLOW", math.inf)
    monkeypatch.setattr(conquering, "MOST_WORK", 0.0)
    found = shared_data("magic")
    X = found["X_train"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    # Rows for which it happens.
    rows = np.random.default_rng(0).permutation(len(X))[: -(len(X) // 10)]
    api.ingest((X[rows].astype(np.float32), found["y_train"][rows]), tmp_path / "data.zarr")
    run = api.train(
        tmp_path / "data.zarr",
        tmp_path / "run",
        C=1.0,
        gamma=8.0,
        fit_intercept=True,
        execution=Execution(workers=0),
        quiet=True,
    )
    status = run.status()
    assert status["converged"]
    assert "conquer-002" in status["stages"]
    alpha = np.abs(run.folder.node(status["model"], "commit").read("alpha")[0])
    assert np.min(alpha[alpha > 0.0]) > 1e-12
