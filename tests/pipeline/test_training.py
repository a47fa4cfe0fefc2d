"""What the words of a training mean for a data set."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.data_checks import class_weights
from dcsvm_dask.pipeline.goals import parse_duration
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.storage.dataset import DataSet


def data_of(n: int, classes: int = 2) -> Any:
    """Return as much of a data set as is asked for."""
    rows = SimpleNamespace(
        n_features=100, is_sparse=False, nbytes_of=lambda start, stop: 400 * (stop - start)
    )
    return SimpleNamespace(
        n_rows=n + 5,
        n_distinct=n,
        largest=None,
        weights=None,
        targets=None,
        task="classification",
        one_class=False,
        classes=list(range(classes)),
        counts=[n + 5] + [0] * (classes - 1),
        url="d.zarr/train",
        rows=rows,
    )


@pytest.mark.parametrize(
    ("n", "words", "clusters", "forced"),
    [
        (3000, {}, (), False),
        (6000, {}, (), False),
        (10_000, {}, (), False),
        (20_000, {}, (8,), False),
        (100_000, {}, (64, 8), False),
        (464_810, {}, (512, 64, 8), False),
        (10**8, {}, (32768, 4096, 512, 64, 8), False),
        (100_000, {"k": 10}, (100, 10), False),
        (3000, {"levels": 2}, (64, 8), True),
        (100_000, {"levels": 0}, (), True),
        (3000, {"levels": 3, "k": 2}, (8, 4, 2), True),
        (3000, {"clusters": (30, 7, 2)}, (30, 7, 2), True),
        (3000, {"clusters": (30,), "levels": 3}, (30,), True),
    ],
)
def test_levels(n: int, words: dict[str, Any], clusters: tuple[int, ...], forced: bool) -> None:
    settings, _, shape = Training(gamma=1.0, **words).settle(data_of(n))
    assert (settings.clusters, settings.levels_forced) == (clusters, forced)
    assert (shape.n_variables, shape.n_rows) == (n, n + 5)


@pytest.mark.parametrize("n", [10, 6000, 10**6, 10**8])
def test_tasks_hold_a_bounded_number_of_rows(n: int) -> None:
    settings, _, _ = Training(gamma=1.0).settle(data_of(n))
    assert settings.chunk_rows <= 65536


def test_levels_are_solved_no_further_than_the_run_is_to_go() -> None:
    assert Training(gamma=1.0, tol=0.1).settle(data_of(100))[0].level_tol == 0.1
    assert Training(gamma=1.0, tol=1e-6).settle(data_of(100))[0].level_tol == 1e-2


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    training = Training(
        C=np.float32(2),
        gamma=np.float64(3),
        k=np.int64(3),
        levels=np.int64(2),
        seed=np.uint8(7),
        tol=np.float32(0.01),
        stop_at=np.int32(1),
        block_cap=np.int64(100),
        max_rounds=np.int16(9),
        degree=np.int64(2),
        n_samples_clustering=np.int64(40),
    )
    X = np.random.default_rng(0).random((60, 3)).astype(np.float32)
    data = ingest((X, X[:, 0] > 0.5), tmp_path / "d.zarr")
    settings, goals, _ = training.settle(data)
    value = json.loads(json.dumps({"settings": settings.to_json(), "goals": goals.to_json()}))
    assert value["settings"]["clusters"] == [9, 3]
    assert value["settings"]["C"] == 2.0
    assert value["goals"] == {
        "tol": pytest.approx(0.01),
        "stop_at": 1,
        "max_rounds": 9,
        "committee": False,
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"C": "1"}, "C must be a number"),
        ({"C": True}, "C must be a number"),
        ({"gamma": None}, "gamma is None; give a finite number above 0"),
        ({"gamma": "scal"}, 'gamma is .scal.; give "scale", "auto" or a number'),
        ({"k": 2.5}, "k must be a whole number"),
        ({"stop_at": "1"}, "stop-at must be .*, got '1'"),
        ({"seed": None}, "seed must be .*, got None"),
        ({"levels": None}, "levels must be .*, got None"),
        ({"levels": 2.0}, "levels must be .*, got 2.0"),
        ({"clusters": (4.0, 2.0)}, r"clusters must be .*, got \(4.0, 2.0\)"),
        ({"kernel": "gauss"}, "kernel 'gauss' is unknown"),
    ],
)
def test_words_of_a_wrong_kind(words: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Training(**words)


def test_one_class_is_none() -> None:
    with pytest.raises(InputError, match="one class only"):
        Training(gamma=1.0).settle(data_of(100, 1))


@pytest.mark.parametrize(
    ("counts", "words", "clusters"),
    [
        ([6000, 6000, 88_000], {}, (64, 8)),
        ([1000] * 100, {}, ()),  # each pair is small
        ([1000] * 100, {"multiclass": "ovr"}, (64, 8)),
        ([1000] * 100, {"levels": 1}, (8,)),
        ([6000, 6000, 88_000], {"levels": 0}, ()),
    ],
)
def test_many_classes_have_levels_where_a_machine_is_large(
    counts: list[int], words: dict[str, Any], clusters: tuple[int, ...]
) -> None:
    data = data_of(100_000, len(counts))
    data.counts = counts
    settings, _, shape = Training(gamma=1.0, **words).settle(data)
    assert (settings.clusters, list(shape.class_rows)) == (clusters, counts)


@pytest.mark.parametrize("words", [{"committee": True, "levels": 1}, {"method": "cascade"}])
def test_what_there_is_not_for_many_classes(words: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"has 3 classes; .* is for two"):
        Training.of(words).settle(data_of(100, 3))


def test_two_classes_have_one_machine_whatever_the_scheme() -> None:
    assert Training(gamma=1.0, multiclass="ovr").settle(data_of(100))[0].multiclass == "ovo"
    with pytest.raises(InputError, match=r"multiclass must be .*, got 'all'"):
        Training(multiclass="all")


def test_a_run_of_an_older_version_is_the_same_training() -> None:
    training, data = Training(gamma=2.0), data_of(100)
    settings = training.settle(data)[0].to_json()
    del settings["multiclass"]
    assert not training.differences(settings, data)
    assert Training(gamma=3.0).differences(settings, data)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, ()),
        ("balanced", (70 / 120, 70 / 60, 70 / 30)),
        ({"b": 3}, (1.0, 3.0, 1.0)),
        ({1: 2.5, "c": 0.5}, None),
    ],
)
def test_weights_of_classes(given: Any, wanted: tuple[float, ...] | None) -> None:
    if wanted is None:
        with pytest.raises(
            InputError, match="class-weight must be one of the labels a, b, c, got 1"
        ):
            class_weights(given, ["a", "b", "c"], [40, 20, 10])
        return
    assert class_weights(given, ["a", "b", "c"], [40, 20, 10]) == pytest.approx(wanted)


@pytest.mark.parametrize("given", ["even", 2.0, {"a": 0.0}, {"a": -1}, {"a": "x"}, {"a": True}])
def test_what_are_no_weights_of_classes(given: Any) -> None:
    with pytest.raises(InputError, match=r"class-weight must be .*, got"):
        class_weights(given, ["a", "b"], [1, 2])


def test_distinct_rows_are_what_counts_for_clusters() -> None:
    with pytest.raises(InputError, match="64 clusters for 63 distinct rows"):
        Training(gamma=1.0, clusters=(64, 4)).settle(data_of(63))
    assert Training(gamma=1.0, clusters=(64, 4)).settle(data_of(64))[0].clusters == (64, 4)


def test_a_data_set_s_shape(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((50, 3)).astype(np.float32)
    X[40:] = X[:10]
    y = np.arange(50) % 2
    ingest((X, y), tmp_path / "d.zarr")
    _, _, shape = Training(gamma=1.0).settle(DataSet.open(tmp_path / "d.zarr"), holdout=True)
    assert (shape.n_rows, shape.n_variables, shape.holdout) == (50, 40, True)
    assert shape.n_bytes == 50 * 3 * 4


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("10m", 600.0),
        ("1.5h", 5400.0),
        ("1h30m", 5400.0),
        ("1h30m15s", 5415.0),
        (" 2m ", 120.0),
        ("0.5", 0.5),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@given(st.text(max_size=8))
def test_no_text_breaks_the_reading_of_durations(text: str) -> None:
    try:
        assert parse_duration(text) > 0
    except InputError as error:
        assert "is no duration" in str(error)  # noqa: PT017


@pytest.mark.parametrize("word", ["one_hot", "missing", "dates", "decimal"])
def test_choices_of_columns_belong_to_the_ingest(word: str) -> None:
    with pytest.raises(
        InputError, match=rf"{word}: .*; give it to dcsvm_dask.ingest\(..., {word}="
    ):
        Training.of({word: "auto"})
