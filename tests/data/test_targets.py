"""Data sets with real targets: from every reader, in any order, with weights; and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from dcsvm_dask import api
from dcsvm_dask.cli.info import describe
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.summary import summary_lines
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.storage import permute
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.preparation import Preparation
from tests.command_line import invoke

RNG = np.random.default_rng(0)
X = RNG.integers(-8, 9, (300, 4)).astype(np.float32) / 8
Z = np.round(RNG.standard_normal(300) * 3.0, 6)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with the same rows in every format."""
    import pandas as pd

    dump_svmlight_file(X.astype(np.float64), Z, str(tmp_path / "a.svm"), zero_based=False)
    np.savez(tmp_path / "a.npz", X_train=X, y_train=Z)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(target=Z)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    return tmp_path


def read(data: DataSet) -> tuple[Any, Any]:
    rows = data.rows.read(0, data.n_rows)
    return (rows.toarray() if data.is_sparse else rows), data.read_y(0, data.n_rows)


@pytest.mark.parametrize("name", ["a.svm", "a.npz", "a.csv", "a.parquet"])
@pytest.mark.parametrize("words", [{}, {"sparse": True}, {"rows": (20, 200)}, {"shuffle": True}])
def test_every_reader_gives_the_targets_as_they_are(
    files: Path, name: str, words: dict[str, Any]
) -> None:
    data = ingest(files / name, files / "d.zarr", task="regression", **words)
    rows, targets = read(data)
    expected = np.arange(*words.get("rows", (0, 300)))
    if "shuffle" in words:
        expected = np.random.default_rng(0).permutation(300)
    assert targets.dtype == np.float64
    np.testing.assert_array_equal(rows, X[expected])
    np.testing.assert_array_equal(targets, Z[expected])
    assert data.classes == data.counts == []
    own = Z[expected]
    assert data.targets == pytest.approx(
        {"least": own.min(), "most": own.max(), "mean": own.mean(), "std": own.std()}
    )
    np.testing.assert_array_equal(data.take_y(np.array([7, 3, 7])), own[[7, 3, 7]])


def test_a_column_of_56_numbers_is_not_56_classes(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    found = shared_data("cpusmall")
    rows = found["X_train"], found["y_train"]
    data = ingest(rows, tmp_path / "d.zarr", task="regression", test_fraction=0.2)
    assert data.classes == []
    both = np.concatenate([read(part)[1] for part in (data, data.open_part("test"))])
    np.testing.assert_array_equal(np.sort(both), np.sort(found["y_train"]))
    with pytest.raises(InputError, match=r"ingest the source with --task classification"):
        api.train(data.place, tmp_path / "run", task="classification")


def test_rows_equal_in_x_and_target_are_one_and_others_are_not(tmp_path: Path) -> None:
    rows, targets = np.concatenate([X, X, X]), np.concatenate([Z, Z, Z + 1e-12])
    data = ingest((rows, targets), tmp_path / "d.zarr", task="regression")
    distinct = len(np.unique(np.column_stack([rows.astype(np.float64), targets]), axis=0))
    assert data.n_distinct == distinct
    assert distinct > 300
    assert ingest((X, Z), tmp_path / "e.zarr", task="regression").n_distinct == 300


def test_a_target_of_minus_zero_is_zero(tmp_path: Path) -> None:
    ones = np.ones((4, 2), np.float32)
    data = ingest((ones, [0.0, -0.0, 1.0, 1.0]), tmp_path / "d.zarr", task="regression")
    assert data.n_distinct == 2


def test_large_sources_are_permuted_with_their_targets(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permute, "BUCKET_BYTES", 1000)
    data = ingest(files / "a.csv", files / "d.zarr", task="regression", shuffle=True)
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(read(data)[1], Z[order])
    np.testing.assert_array_equal(read(data)[0], X[order])


def test_weights_and_a_data_set_as_the_source(files: Path) -> None:
    weights = RNG.choice([0.0, 0.5, 2.0], 300)
    first = ingest(files / "a.csv", files / "d.zarr", task="regression", weights=weights)
    again = ingest(first.place, files / "e.zarr", task="regression")
    kept = np.flatnonzero(weights)
    for data in (first, again):
        np.testing.assert_array_equal(read(data)[1], Z[kept])
        np.testing.assert_array_equal(data.read_weights(0, len(kept)), weights[kept])
    assert first.fingerprint == again.fingerprint
    other = ingest(
        (X[kept], Z[kept] + 1.0), files / "f.zarr", task="regression", weights=weights[kept]
    )
    assert other.fingerprint != first.fingerprint


def test_numbers_that_were_classes_may_become_targets(files: Path) -> None:
    whole = np.round(Z)
    classes = ingest((X, whole), files / "c.zarr")
    data = ingest(classes.place, files / "d.zarr", task="regression")
    np.testing.assert_array_equal(read(data)[1], whole)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"task": ["regression"]}, "task must be one of classification, regression, quantile"),
        ({"task": "regresion"}, "task must be one of classification, regression, quantile"),
        ({"task": "regression", "positive": [1]}, "positive: makes classes, but regression"),
    ],
)
def test_what_does_not_fit_targets_is_refused(files: Path, words: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        ingest(files / "a.csv", files / "d.zarr", **words)
    assert not (files / "d.zarr").exists()


def test_classes_that_are_words_are_no_targets(tmp_path: Path) -> None:
    labels = np.where(Z > 0, "yes", "no")
    with pytest.raises(InputError, match=r"row 0 .* has the target '(yes|no)', which is not a num"):
        ingest((X, labels), tmp_path / "d.zarr", task="regression")


def test_the_command_shows_the_targets(files: Path) -> None:
    out = files / "d.zarr"
    found = invoke("ingest", files / "a.csv", "--out", out, "--task", "regression")
    assert found.exit_code == 0, found.output
    assert "targets" in found.output
    assert f"mean {Z.mean():.6g}, standard deviation {Z.std():.6g}" in found.output
    assert describe(out)["parts"]["train"]["targets"]["least"] == Z.min()
    assert describe(out)["classes"] == []


def test_a_commit_that_lost_its_statistics_is_damaged(files: Path) -> None:
    out = files / "d.zarr"
    ingest(files / "a.csv", out, task="regression")
    place = Location.of(out) / "dataset.json"
    about = place.read_json()
    for change in ({"version": 2}, {"classes": [1, 2]}):
        place.write_json(about | change)
        with pytest.raises(InputError, match=r"is impossible|digest"):
            DataSet.open(out)


def money(values: Any, form: str) -> list[str]:
    """Return numbers of two decimals as people write amounts of money."""
    written = [f"{value:,.2f}" for value in values]
    if form.endswith("€"):
        written = [word.translate(str.maketrans(",.", ".,")) for word in written]
    return [form.format(word) for word in written]


@pytest.mark.parametrize(
    ("form", "decimal"), [("${}", "."), ("£ {}", "."), ("{}", "."), ("{} €", ","), ("{}€", ",")]
)
@pytest.mark.parametrize("drop", [[], ["nr"]])  # read as plain numbers, and prepared
def test_targets_as_money(form: str, decimal: str, drop: list[str], tmp_path: Path) -> None:
    import pandas as pd

    prices = np.round(np.exp(RNG.uniform(4.0, 14.0, 80)), 2)
    frame = pd.DataFrame({"a": np.arange(80), "price": money(prices, form)})
    frame = frame.assign(a=[f"{k / 8:.3f}".replace(".", decimal) for k in range(80)])
    frame.insert(0, "nr", [f"no. {k}" for k in range(80)])
    frame = frame if drop else frame.drop(columns="nr")
    frame[:60].to_csv(tmp_path / "t.csv", sep=";", index=False)
    frame[60:].to_csv(tmp_path / "u.csv", sep=";", index=False)
    frame.to_csv(tmp_path / "all.csv", sep=";", index=False)
    how: dict[str, Any] = {"task": "regression", "decimal": decimal, "drop": drop}
    data = ingest(tmp_path / "t.csv", tmp_path / "d.zarr", test=tmp_path / "u.csv", **how)
    np.testing.assert_array_equal(read(data)[1], prices[:60])
    np.testing.assert_array_equal(read(data.open_part("test"))[1], prices[60:])
    sign = form.replace("{}", "").strip()
    said = [f"column price: number, written with {sign}"] if sign else []
    assert summary_lines(data)[2:] == said
    split = ingest(tmp_path / "all.csv", tmp_path / "e.zarr", test_fraction=0.25, **how)
    both = np.concatenate([read(part)[1] for part in (split, split.open_part("test"))])
    np.testing.assert_array_equal(np.sort(both), np.sort(prices))
    later = Preparation.of(data)
    found = later.y(np.array(money(prices, form), object), "LATER", 0)
    np.testing.assert_array_equal(found, prices)
    if sign:
        with pytest.raises(
            InputError, match=f"with %, and those of .* are with .?{re.escape(sign)}"
        ):
            later.y(np.array(["12 %"], object), "LATER", 0)


def test_targets_with_and_without_a_sign_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{k}.5,${k}\n" for k in range(20)) + "20.5,20\n")
    with pytest.raises(InputError, match=r"has the target '\$0', which is not a number"):
        ingest(path, tmp_path / "d.zarr", task="regression")
    table = TargetTable("FILE")  # in other blocks of a file
    table.add(np.array(["$5", "$6"], object))
    with pytest.raises(InputError, match=r"FILE: the targets are numbers with \$ and without"):
        table.add(np.array(["7"], object))


@pytest.mark.filterwarnings("ignore::dcsvm_dask.errors.DcsvmWarning")
@pytest.mark.parametrize("more", ["", "12.5", "1234"])
def test_commas_of_targets_that_may_begin_decimals_are_told(more: str, tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    lines = [f"{k}.5\t{k + 1},57{k % 10}\n" for k in range(40)] + [f"40.5\t{more or '7'}\n"]
    path.write_text("a\ty\n" + "".join(lines))
    data = ingest(path, tmp_path / "d.zarr", task="regression")
    said = "column 'y' with a comma, such as '1,570', all have three digits after it; they are read"
    assert sum(said in text for text in data.warnings) == (not more)
    assert read(data)[1][:2].tolist() == [1570.0, 2571.0]
