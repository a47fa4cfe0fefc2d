"""The words of a search: numbers of any kind, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.searching import parse_values, settle
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet

OPTIONS = {"folds": 3, "exact": 1, "halving": False, "budget": 1000, "refit": False}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    X, y = load_breast_cancer(return_X_y=True)
    place = tmp_path_factory.mktemp("data") / "cancer.zarr"
    api.ingest((X, y), place, scale="minmax")
    return DataSet.open(place)


def options_of(data: DataSet, words: dict[str, Any], **options: Any) -> dict[str, Any]:
    settings, _, _ = settle(data, words, OPTIONS | options, block_rows=None, held_out=0)
    return settings.options


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (np.logspace(-1, 1, 3), [0.1, 1.0, 10.0]),
        (list(np.logspace(-1, 1, 3)), [0.1, 1.0, 10.0]),
        (np.array([[2, 1], [4, 2]]), [1.0, 2.0, 4.0]),
        (np.float32(0.5), [0.5]),
        ([np.int64(3), 1, 3.0], [1.0, 3.0]),
        (Fraction(1, 4), [0.25]),
        (range(1, 4), [1.0, 2.0, 3.0]),
    ],
)
def test_numbers_of_any_kind_are_kept_as_those_of_python(
    data: DataSet, given: Any, wanted: list[float]
) -> None:
    found = options_of(data, {"C": given})["C"]
    assert found == wanted
    assert {type(one) for one in found} == {float}


def test_degrees_stay_whole(data: DataSet) -> None:
    found = options_of(data, {"kernel": "poly", "degree": np.array([3, 2])})["degree"]
    assert [(one, type(one)) for one in found] == [(2, int), (3, int)]


def test_a_search_by_numbers_of_numpy_opens_again(data: DataSet, tmp_path: Path) -> None:
    run = api.search(
        data.place,
        tmp_path / "run",
        C=np.array([1.0, 8.0]),
        gamma=[np.float64(0.5)],
        kernel=np.str_("rbf"),
        fit_intercept=np.True_,
        cv=np.int64(3),
        exact=np.int32(1),
        budget=np.int64(500),
        halving=np.False_,
        refit=np.True_,
        execution=Execution(workers=0),
        quiet=True,
        report=False,
    )
    again = api.open_run(run.url)
    assert again.results() == run.results()
    assert again.best is not None
    assert again.best.status()["state"] == "complete"


@pytest.mark.parametrize(
    ("words", "options", "said"),
    [
        ({"kernel": ["rbf"]}, {}, "kernel .'rbf'. is unknown"),
        ({"kernel": "gauss"}, {}, "kernel 'gauss' is unknown"),
        ({"C": [True]}, {}, "C must be numbers, above 0, got"),
        ({"C": [None, 1.0]}, {}, "C must be numbers, got"),
        ({"C": 10**400}, {}, "C must be numbers, got"),
        ({"C": np.array(["a"])}, {}, "C must be numbers, above 0, got"),
        ({"gamma": np.array([])}, {}, "gamma"),
        ({"kernel": "poly", "degree": [2.0]}, {}, "degree"),
        ({"task": "ranking"}, {}, r"task must be one of auto, classification, .*, got 'ranking'"),
        ({"task": None}, {}, r"task must be one of auto, classification, .*, got None"),
        ({"fit_intercept": "no"}, {}, r"fit-intercept must be .*true or false.*, got 'no'"),
        ({}, {"halving": "no"}, r"halving must be .*true or false.*, got 'no'"),
        ({}, {"refit": "no"}, r"refit must be .*true or false.*, got 'no'"),
        ({}, {"folds": 0}, r"cv must be .*2 folds.*, got 0"),
        ({}, {"folds": -3}, r"cv must be .*2 folds.*, got -3"),
        ({}, {"folds": "a"}, r"cv must be .*whole number.*, got 'a'"),
    ],
)
def test_impossible_words_are_refused(
    data: DataSet, words: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        options_of(data, words, **options)


def test_rows_that_are_all_equal_are_refused(tmp_path: Path) -> None:
    same = api.ingest((np.full((20, 1), 7.0), np.arange(20) % 2), tmp_path / "same.zarr")
    with pytest.raises(InputError, match="its only feature has the same value in all rows"):
        options_of(same, {})
    few = api.ingest((np.arange(20)[:, None] // 10, np.arange(20) % 2), tmp_path / "few.zarr")
    with pytest.raises(InputError, match=r"4 distinct rows, too few for 5 folds; give more rows"):
        options_of(few, {}, folds=5)
    sparse_rows = sparse.csr_array(np.tile([0.0, 0.0, 2.0], (20, 1)))
    same = api.ingest((sparse_rows, np.arange(20) % 2), tmp_path / "sparse.zarr")
    with pytest.raises(InputError, match="every feature has the same value in all rows"):
        options_of(same, {})


@pytest.mark.parametrize("rows", ["a", 3, 100.5, True])
def test_impossible_blocks_are_refused(data: DataSet, rows: Any) -> None:
    with pytest.raises(InputError, match="block-rows"):
        settle(data, {}, OPTIONS, block_rows=rows, held_out=0)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0.1,1,2^5", (0.1, 1.0, 32.0)),
        ("2^-1:2^3:2^2", (0.5, 2.0, 8.0)),
    ],
)
def test_values_are_read(text: str, wanted: tuple[float, ...]) -> None:
    assert parse_values("C", text) == pytest.approx(wanted)


@pytest.mark.parametrize(("name", "text"), [("gamma", "0,03"), ("C", "1,05"), ("nu", "0,5")])
def test_commas_before_decimals_are_refused(name: str, text: str) -> None:
    point = text.replace(",", ".")
    with pytest.raises(InputError, match=f"{name} must be .* decimals need a point: {point}, got"):
        parse_values(name, text)
    assert parse_values("epsilon", "0,5") == (0, 5)
    assert parse_values("C", "1,0.5,10") == (1, 0.5, 10)


@pytest.mark.parametrize("text", ["", "a", "-2^0.5", "1:2", "2:1:2", "1:2:1", "nan", "2^99999"])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"C must be .*, got .*"):
        parse_values("C", text)
