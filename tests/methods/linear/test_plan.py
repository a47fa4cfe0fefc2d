"""The estimates of linear methods, against counted work and measured units of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.cutting.options import Layout
from dcsvm_dask.methods.dcd.graph import VISIT
from dcsvm_dask.methods.dcd.plan import READ_PER_SECOND, ROUNDS, VALUE_SECONDS
from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.measured import TYPICAL
from dcsvm_dask.methods.plan import plan
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape

GOALS = Goals(tol=1e-3, stop_at=0, max_rounds=1000, committee=False)
# Rows of CSR: a value and its column, and where each row begins.
ROWS, VALUES, FEATURES = 15_000_000, 141, 564
SPARSE = Shape(ROWS, ROWS, ROWS * (8 * VALUES + 8), n_features=FEATURES)


def settings_of(method: str, **options: Any) -> Settings:
    own = METHODS[method].options(**options).to_json()
    return replace(USUAL, method=method, options=own)


USUAL = Settings(
    kernel=Kernel("linear"),
    C=1.0,
    fit_intercept=True,
    class_weight=(),
    clusters=(),
    levels_forced=False,
    n_samples_clustering=1000,
    block_cap=8192,
    set_cap=12288,
    level_tol=1e-2,
    alone_tol=1e-3,
    seed=0,
    chunk_rows=16384,
)


def busy_of(settings: Settings, shape: Shape) -> float:
    stages = plan(settings, GOALS, shape).stages
    return sum(stage.core_seconds * stage.times for stage in stages)


def test_values_of_sparse_rows_are_counted_once() -> None:
    sparse = Forecast(USUAL, SPARSE, TYPICAL)
    assert (sparse.values, sparse.width) == (VALUES, FEATURES)
    dense = replace(SPARSE, n_bytes=ROWS * 4 * FEATURES)
    assert Forecast(USUAL, dense, TYPICAL).values == FEATURES
    unknown = replace(dense, n_features=0)
    assert Forecast(USUAL, unknown, TYPICAL).width == FEATURES


@pytest.mark.parametrize("method", ["dcd", "ocas"])
def test_sparse_rows_take_what_dense_ones_of_as_many_values_do(method: str) -> None:
    n = 10_000
    sparse = Shape(n, n, n * (8 * VALUES + 8), n_features=FEATURES)
    dense = Shape(n, n, n * 4 * VALUES, n_features=VALUES)
    settings = settings_of(method)
    # Only the bytes that are read are twice as many.
    assert busy_of(settings, sparse) == pytest.approx(busy_of(settings, dense), rel=0.25)


@pytest.mark.parametrize("bias", ["feature", "free"])
@pytest.mark.parametrize("chunks", [1, 3])
def test_rounds_over_parts_are_passes_and_readings(chunks: int, bias: str) -> None:
    # In units that were measured: ten passes are three to five over all rows, at 2.5e-9 to 6e-9
    # seconds a value; pieces are read for four passes, and to measure.
    settings = settings_of("dcd", chunks=chunks, bias=bias)
    rows_pass = ROWS * (VALUES + VISIT)
    least, most = 3.0 * 2.5e-9 * rows_pass, 5.2 * 6e-9 * rows_pass
    reading = SPARSE.n_bytes / READ_PER_SECOND
    readings = (4 if chunks > 1 else 0) + (3 if bias == "free" else 2)
    found = busy_of(settings, SPARSE) / ROUNDS - readings * reading
    assert least < found < most
    assert found == pytest.approx(12 * VALUE_SECONDS * rows_pass, rel=0.1)


def test_rows_in_pieces_are_read_once_for_some_passes() -> None:
    # Two rounds of such a run took 263 seconds.
    settings = settings_of("dcd", chunks=3)
    of_rounds = 2 / ROUNDS * plan(settings, GOALS, SPARSE).seconds(2)
    assert 263 / 2 < of_rounds < 2 * 263


@pytest.mark.parametrize(("megabytes", "parts"), [(200, 1), (300, 4), (1024, 4), (1700, 8)])
def test_parts_of_cutting_planes_are_even(megabytes: int, parts: int) -> None:
    n = 1_000_000
    shape = Shape(n, n, megabytes << 20, n_features=FEATURES)
    assert Layout.of(settings_of("ocas"), shape).parts == parts
    assert Layout.of(settings_of("ocas", parts=3), shape).parts == 3
