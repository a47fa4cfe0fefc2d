"""Whether a run fits: caps that are chosen by memory, and what does not fit is refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcsvm_dask.api.sizes import chosen_sizes, fitted
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods import resources
from dcsvm_dask.methods.approximation.graph import Fourier
from dcsvm_dask.methods.dcd.options import Descent
from dcsvm_dask.methods.plan import plan
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.methods.settings import CAPS
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime import capacity
from dcsvm_dask.runtime.capacity import (
    FEWER_THREADS,
    LEAST_BLOCK_CAP,
    check_memory,
    fit_caps,
    fits,
    kept_bytes,
    memory_of_core,
    memory_of_workers,
)
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.session import check_room
from dcsvm_dask.storage.location import Location
from tests import typical
from tests.typical import COVTYPE, GOALS

SETTINGS = replace(typical.SETTINGS, clusters=(512, 64, 8), set_cap=12_288, chunk_rows=16_384)


def caps(available: int, *, given: Collection[str] = ()) -> tuple[int, int]:
    found = fit_caps(SETTINGS, GOALS, COVTYPE, available, given=given)
    return found.block_cap, found.set_cap


@pytest.mark.parametrize("stop_at", [1, 3])
def test_sizes_are_those_of_the_exact_model_wherever_a_run_is_to_stop(stop_at: int) -> None:
    training, execution = Training(), Execution(workers=1, memory_limit="1GB")
    early = replace(GOALS, stop_at=stop_at)
    for memory in (500 << 20, 700 << 20, 900 << 20, 1 << 30):
        begun = fitted(SETTINGS, early, COVTYPE, training, execution, memory)
        exact = fitted(SETTINGS, GOALS, COVTYPE, training, execution, memory)
        assert begun == exact
        if fits(plan(exact, GOALS, COVTYPE), memory):  # the run can go on to the exact model
            assert fits(plan(begun, GOALS, COVTYPE), memory)


def test_caps_are_the_largest_that_fit() -> None:
    assert caps(4 << 30) == (8192, 12_288)
    assert caps(1 << 30) == (8192, 12_288)  # sets of whole problems are small
    for available in (900 << 20, 700 << 20, 600 << 20):
        block_cap, set_cap = caps(available)
        assert LEAST_BLOCK_CAP <= block_cap <= set_cap
        fitted = replace(SETTINGS, block_cap=block_cap, set_cap=set_cap)
        assert fits(plan(fitted, GOALS, COVTYPE), available)
        larger = replace(SETTINGS, block_cap=2 * block_cap, set_cap=2 * block_cap)
        assert block_cap == 8192 or not fits(plan(larger, GOALS, COVTYPE), available)


@given(st.integers(1 << 20, 1 << 36), st.sets(st.sampled_from(CAPS)))
def test_memory_that_suffices_changes_nothing(available: int, given: set[str]) -> None:
    found = fit_caps(SETTINGS, GOALS, COVTYPE, available, given=given)
    if fits(plan(SETTINGS, GOALS, COVTYPE), available):
        assert found == SETTINGS
    assert {name: getattr(found, name) for name in given} == {
        name: getattr(SETTINGS, name) for name in given
    }
    # What was lowered is a parameter: given, it is the same wherever it fits.
    assert fit_caps(found, GOALS, COVTYPE, 1 << 40, given=CAPS) == found


def test_caps_that_were_given_are_kept_and_refused_where_they_do_not_fit() -> None:
    assert caps(700 << 20, given=["block_cap"]) == (8192, 8192)
    assert caps(700 << 20, given=CAPS) == (8192, 12_288)
    found = fit_caps(SETTINGS, GOALS, COVTYPE, 700 << 20, given=CAPS)
    with pytest.raises(InputError, match="lower --block-cap and --set-cap"):
        check_memory(plan(found, GOALS, COVTYPE), 700 << 20)


def test_a_run_that_was_begun_keeps_its_sizes_and_is_refused_where_they_do_not_fit() -> None:
    with pytest.raises(
        InputError,
        match=r"raise the workers' memory limit; the sizes of a begun run cannot change: "
        "or begin a new run and lower --block-cap and --set-cap",
    ):
        check_memory(
            plan(SETTINGS, GOALS, COVTYPE), 700 << 20, "the workers' memory limit", begun=True
        )


def test_what_fits_nowhere_is_refused_with_sizes_and_what_to_do() -> None:
    found = fit_caps(SETTINGS, GOALS, COVTYPE, 250 << 20)
    assert found.block_cap == LEAST_BLOCK_CAP
    with pytest.raises(
        InputError, match=r"a worker has 250 MiB and ends at 95% of it; raise --memory-limit"
    ):
        check_memory(plan(found, GOALS, COVTYPE), 250 << 20)


@pytest.mark.parametrize(
    ("method", "options", "available", "said"),
    [
        (
            "fourier",
            {"outputs": 1000, "chunks": 1},
            2 << 30,
            "raise -P chunks above 1, or train on fewer rows",
        ),
        ("nystrom", {"rank": 1000, "chunks": 2}, 1 << 30, "raise -P chunks above 2, or"),
        ("ltpu", {"centres": 1000, "chunks": 1}, 2 << 30, "raise -P chunks above 1, or"),
        ("ltpu", {"centres": 20_000, "chunks": 500}, 2 << 30, "lower -P centres, or train"),
        ("nystrom", {"rank": 20_000, "chunks": 500}, 2 << 30, "lower -P rank, or train"),
        ("libsvm", {"cache": 8000.0}, 2 << 30, "lower -P cache, or train on fewer rows"),
        ("liblinear", {}, 700 << 20, r"raise --memory-limit \(or [^,]*\), or train on fewer rows"),
        ("bagging", {"members": 2}, 400 << 20, "lower --block-cap and --set-cap, or train"),
    ],
)
def test_what_does_not_fit_names_what_bounds_its_memory(
    method: str, options: dict[str, Any], available: int, said: str
) -> None:
    own = METHODS[method].options(**options).to_json()
    settings = replace(SETTINGS, clusters=(), method=method, options=own)
    with pytest.raises(InputError, match=said):
        check_memory(plan(settings, GOALS, COVTYPE), available)


def test_approximations_are_read_in_as_few_chunks_as_fit() -> None:
    own = Fourier(outputs=1000).to_json()
    settings = replace(SETTINGS, clusters=(), method="fourier", options=own)
    for available, chunks in ((4 << 30, 1), (2 << 30, 4), (1 << 30, 16)):
        found = fit_caps(settings, GOALS, COVTYPE, available)
        assert found == replace(settings, options=own | {"chunks": chunks})
        check_memory(plan(found, GOALS, COVTYPE), available)


def test_rows_of_descent_are_read_in_as_few_chunks_as_fit() -> None:
    own = Descent(parts=1).to_json()
    kernel = Kernel("linear")
    settings = replace(SETTINGS, kernel=kernel, clusters=(), method="dcd", options=own)
    for available, chunks in ((2 << 30, 1), (480 << 20, 4)):
        found = fit_caps(settings, GOALS, COVTYPE, available)
        assert found == replace(settings, options=own | {"chunks": chunks})
        check_memory(plan(found, GOALS, COVTYPE), available)


def test_sizes_that_were_lowered_are_shown_as_the_options_that_give_them() -> None:
    found = fit_caps(SETTINGS, GOALS, COVTYPE, 600 << 20)
    caps = f"--block-cap {found.block_cap} --set-cap {found.set_cap}"
    assert chosen_sizes(SETTINGS, found) == caps
    assert chosen_sizes(SETTINGS, replace(SETTINGS, set_cap=8192)) == "--set-cap 8192"
    assert chosen_sizes(SETTINGS, SETTINGS) == ""
    own = Fourier(outputs=1000).to_json()
    settings = replace(SETTINGS, clusters=(), method="fourier", options=own)
    for available, said in ((4 << 30, ""), (2 << 30, "-P chunks=4")):
        assert chosen_sizes(settings, fit_caps(settings, GOALS, COVTYPE, available)) == said


def test_what_is_chosen_by_memory_follows_from_the_cores_and_not_from_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(capacity, "_memory_of_machine", lambda: 8 << 30)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert memory_of_core() == 2 << 30
    assert [memory_of_workers(None, n) for n in (0, 1, 2)] == [8 << 30, 8 << 30, 4 << 30]


def test_tasks_side_by_side_in_a_process_share_its_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    planned = plan(SETTINGS, GOALS, COVTYPE)
    alone, together = planned.most_bytes(), planned.most_bytes(2)
    assert together == alone + planned.largest(2).need.most
    available = int(1.1 * (alone + kept_bytes(planned, 1 << 40)))
    check_memory(planned, available)
    with pytest.raises(InputError, match=r"for each of 2 tasks of .*lower n_jobs"):
        check_memory(planned, available, FEWER_THREADS, 2)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(resources, "_threads", 2)
    run = Location.of(tmp_path / "run")
    check_room(Execution(workers=1), planned, run, available)
    with pytest.raises(InputError, match="each of 2 tasks"):
        check_room(Execution(workers=0), planned, run, available)
    # A task that has no other beside it may take all.
    settings = replace(
        SETTINGS, clusters=(), method="libsvm", options=METHODS["libsvm"].options().to_json()
    )
    single = plan(settings, GOALS, COVTYPE)
    assert single.most_bytes(2) == single.most_bytes()


def test_the_memory_of_the_machine_is_what_dask_says_it_is() -> None:
    from distributed.system import MEMORY_LIMIT

    assert memory_of_workers(None, 1) == MEMORY_LIMIT
    assert memory_of_workers(None, 3) == MEMORY_LIMIT // 3
