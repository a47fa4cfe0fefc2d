"""Features are found by name whatever takes a table: frames, files, data sets; by any model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = Execution(workers=0)
TRAIN = 400


@pytest.fixture(scope="module")
def tumours() -> pd.DataFrame:
    """Give real rows with names of 30 features, labelled in words in the column "kind"."""
    found = load_breast_cancer(as_frame=True)
    return found.data.assign(kind=np.array(found.target_names)[found.target])


@pytest.fixture(scope="module")
def home(tumours: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a run of an exact model and a level, and a smaller form of it."""
    home = tmp_path_factory.mktemp("home")
    api.ingest(tumours[:TRAIN], home / "d.zarr", label="kind", scale="standard")
    how: dict[str, Any] = {"gamma": 0.03, "C": 10.0, "levels": 1, "k": 2}
    run = api.train(home / "d.zarr", home / "run", execution=HERE, quiet=True, **how)
    run.compress(home / "small", bound=0.05, execution=HERE)
    return home


def later(tumours: pd.DataFrame) -> pd.DataFrame:
    """Return rows to predict whose columns are in another order, with others among them."""
    rows = tumours[TRAIN:].reset_index(drop=True)
    mixed = rows[rows.columns[np.random.default_rng(0).permutation(len(rows.columns))]]
    mixed.insert(0, "patient", [f"no. {k}, ward" for k in range(len(mixed))])
    mixed.insert(7, "weight", 70.5)
    return mixed


def as_csv(rows: pd.DataFrame, folder: Path) -> Path:
    rows.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def as_parquet(rows: pd.DataFrame, folder: Path) -> Path:
    rows.to_parquet(folder / "rows.parquet", index=False)
    return folder / "rows.parquet"


FORMS: list[Callable[[pd.DataFrame, Path], Any]] = [
    lambda rows, folder: rows,
    lambda rows, folder: pl.DataFrame(rows.to_dict("list")),
    as_csv,
    as_parquet,
]


@pytest.mark.one_quick
@pytest.mark.parametrize("form", FORMS, ids=["pandas", "polars", "csv", "parquet"])
@pytest.mark.parametrize(("run", "mode"), [("run", "exact"), ("run", "early"), ("small", None)])
def test_rows_in_another_order(
    form: Any, run: str, mode: str | None, home: Path, tumours: pd.DataFrame, tmp_path: Path
) -> None:
    model = api.open_run(home / run)
    wanted = model.decision_function(
        tumours[TRAIN:].drop(columns="kind").to_numpy(), mode=mode, execution=HERE
    )
    table = later(tumours)
    for rows in (table, table.drop(columns="kind")):
        found = model.decision_function(form(rows, tmp_path), mode=mode, execution=HERE)
        np.testing.assert_array_equal(found, wanted)
    score = model.evaluate(form(table, tmp_path), mode=mode, execution=HERE)
    kinds = np.where(wanted > 0, "malignant", "benign")
    assert score["accuracy"] == np.mean(kinds == table["kind"]) > 0.9
    np.testing.assert_array_equal(
        model.predict(form(table, tmp_path), mode=mode, execution=HERE), kinds
    )


def test_labels_beside_a_frame(home: Path, tumours: pd.DataFrame) -> None:
    table = later(tumours)
    run = api.open_run(home / "run")
    beside = run.evaluate((table.drop(columns="kind"), table["kind"]), execution=HERE)
    inside = run.evaluate(table, execution=HERE)
    assert beside["confusion"] == inside["confusion"]
    apart = run.evaluate(table.drop(columns="kind"), table["kind"], execution=HERE)
    assert apart["confusion"] == inside["confusion"]
    with pytest.raises(InputError, match=r"y: is for rows; .* has its own labels"):
        run.evaluate(home / "data.zarr", table["kind"], execution=HERE)
    with pytest.raises(InputError, match="no labels to compare predictions with: no column 'kind'"):
        run.evaluate(table.drop(columns="kind"), execution=HERE)


def test_missing_features_are_listed(home: Path, tumours: pd.DataFrame, tmp_path: Path) -> None:
    table = later(tumours).drop(columns=["mean area", "worst radius"])
    run = api.open_run(home / "run")
    said = r"lacks 2 of the 30 features .*: 'mean area', 'worst radius'; it has: patient, "
    for form in FORMS:
        with pytest.raises(InputError, match=said):
            run.predict(form(table, tmp_path), execution=HERE)
    with pytest.raises(InputError, match=said):
        run.scale(table)


def test_the_command_line(home: Path, tumours: pd.DataFrame, tmp_path: Path) -> None:
    rows = as_csv(later(tumours), tmp_path)
    words = ["predict", home / "run", rows, "--out", tmp_path / "p.csv", "--workers", 0, "--quiet"]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert (done.exit_code, done.output) == (0, "")
    wanted = api.open_run(home / "run").predict(later(tumours), execution=HERE)
    assert pd.read_csv(tmp_path / "p.csv")["label"].tolist() == wanted.tolist()


def test_a_run_scales_by_name(home: Path, tumours: pd.DataFrame) -> None:
    run = api.open_run(home / "run")
    plain = tumours[TRAIN:].drop(columns="kind").to_numpy()
    np.testing.assert_array_equal(run.scale(later(tumours)), run.scale(plain))
    learned = StandardScaler().fit(tumours[:TRAIN].drop(columns="kind").to_numpy())
    np.testing.assert_allclose(run.scale(plain), learned.transform(plain), rtol=2e-6, atol=1e-6)


def test_a_data_set_in_another_order(home: Path, tumours: pd.DataFrame, tmp_path: Path) -> None:
    drop = ["patient"]
    plain = api.ingest(tumours[:TRAIN], tmp_path / "plain.zarr", label="kind", scale="none")
    run = api.train(plain.url, tmp_path / "run", gamma=1e-5, execution=HERE, quiet=True)
    mixed = api.ingest(
        later(tumours), tmp_path / "mixed.zarr", label="kind", drop=drop, scale="none"
    )
    wanted = run.decision_function(later(tumours), execution=HERE)
    np.testing.assert_array_equal(run.decision_function(mixed.url, execution=HERE), wanted)
    assert run.evaluate(mixed.url, execution=HERE)["n_rows"] == len(wanted)
    with pytest.raises(ValueError, match="feature names should match"):
        run.to_sklearn().predict(later(tumours))
    # Held out rows of a training are read by its tasks, as they are stored.
    held_out = tumours[TRAIN:][[*tumours.columns[::-1][1:], "kind"]]
    mixed = api.ingest(held_out, tmp_path / "held_out.zarr")
    with pytest.raises(InputError, match=r"feature 0 is .*, but .mean radius. in .*: ingest both"):
        api.train(plain.url, tmp_path / "other", holdout=mixed.url, execution=HERE, quiet=True)


@pytest.mark.parametrize("form", FORMS, ids=["pandas", "polars", "csv", "parquet"])
def test_a_test_part_in_another_order(form: Any, tumours: pd.DataFrame, tmp_path: Path) -> None:
    data = api.ingest(
        tumours[:TRAIN],
        tmp_path / "a.zarr",
        label="kind",
        test=form(later(tumours), tmp_path),
        scale="none",
    )
    test = data.open_part("test")
    wanted = tumours[TRAIN:].drop(columns="kind").to_numpy(np.float32)
    np.testing.assert_array_equal(test.rows.read(0, test.n_rows), wanted)
    kinds = np.array(test.classes)[test.read_codes(0, test.n_rows)]
    np.testing.assert_array_equal(kinds, tumours["kind"][TRAIN:])
    again = api.ingest(
        tumours[:TRAIN], tmp_path / "b.zarr", label="kind", test=f"{data.place}/test", scale="none"
    )
    assert again.open_part("test").fingerprint == test.fingerprint


def test_names_of_frames_are_kept(tumours: pd.DataFrame, tmp_path: Path) -> None:
    X, y = tumours.drop(columns="kind"), tumours["kind"]
    first = api.ingest((X, y), tmp_path / "a.zarr")
    second = api.ingest(tumours, tmp_path / "b.zarr", label="kind")
    assert first.feature_names == second.feature_names == list(X.columns)
    assert first.fingerprint == second.fingerprint
    assert first.reading["label"] == second.reading["label"] == "kind"


def test_the_run_of_an_estimator_knows_names(tumours: pd.DataFrame, tmp_path: Path) -> None:
    X, y = tumours[:TRAIN].drop(columns="kind"), tumours["kind"][:TRAIN]
    model = DCSVC(gamma=1e-5, run=tmp_path / "run").fit(X, y)
    rows = later(tumours)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(rows)
    wanted = model.decision_function(rows[X.columns])
    found = api.open_run(tmp_path / "run").decision_function(rows, execution=HERE)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    again = DCSVC.from_run(tmp_path / "run")
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(rows)


RNG = np.random.default_rng(0)

X = RNG.integers(0, 9, (60, 2)).astype(np.float64)

Y = np.where(X[:, 0] > X[:, 1], "dog", "cat")


def trained(source: Any, place: Path, **how: Any) -> api.Run:
    ingest(source, place / "d.zarr", **how)
    return api.train(
        place / "d.zarr", place / "run", gamma=0.5, C=10.0, execution=HERE, quiet=True, report=False
    )


def test_empty_cells_that_are_left_out_need_no_room(tmp_path: Path) -> None:
    """Their lines are shorter than lines of which every cell is read."""
    rows = tmp_path / "rows.csv"
    names = ",".join(f"n{k}" for k in range(40))
    lines = [f"{k % 7},{',' * 40}{'ab'[k % 2]}" for k in range(3000)]
    rows.write_text("\n".join([f"x,{names},y", *lines]) + "\n")
    data = ingest(rows, tmp_path / "d.zarr", drop=names.split(","), label="y", scale="none")
    np.testing.assert_array_equal(data.rows.read(0, 3000)[:, 0], np.arange(3000) % 7)
    run = trained(rows, tmp_path / "r", drop=names.split(","), label="y")
    assert len(run.predict(rows, execution=HERE)) == 3000


@pytest.mark.parametrize("features", [1, 2])
def test_a_word_label_that_is_not_last_is_no_header(features: int, tmp_path: Path) -> None:
    rows, later = tmp_path / "rows.csv", tmp_path / "later.csv"
    lines = [",".join([y, *map(str, x[:features])]) for x, y in zip(X, Y, strict=True)]
    rows.write_text("\n".join(lines))
    later.write_text("\n".join(lines[7:20]))
    run = trained(rows, tmp_path, label=0, header=False)
    assert run.evaluate(later, execution=HERE)["n_rows"] == 13
    parts = ingest(rows, tmp_path / "e.zarr", label=0, header=False, test=later)
    assert parts.open_part("test").n_rows == 13


def test_a_row_of_values_is_not_taken_for_names_that_are_numbers(tmp_path: Path) -> None:
    run = trained((pd.DataFrame(X), Y), tmp_path)
    later = tmp_path / "later.csv"
    later.write_text("1,0\n5,6\n7,8\n")
    found = run.decision_function(later, execution=HERE)
    wanted = run.decision_function(np.array([[1.0, 0], [5, 6], [7, 8]]), execution=HERE)
    np.testing.assert_array_equal(found, wanted)
    later.write_text("0,1\n1,0\n5,6\n7,8\n")  # as pandas writes such a frame
    np.testing.assert_array_equal(run.decision_function(later, execution=HERE), wanted)


def test_rows_of_length_one_over_other_features_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    run = trained((frame, Y), tmp_path, scale="unit")
    wider = frame.assign(c=3.0)[["b", "c", "a"]]
    ingest((wider, Y), tmp_path / "wide.zarr", scale="unit")
    with pytest.raises(InputError, match="was scaled differently"):
        run.predict(tmp_path / "wide.zarr", execution=HERE)
    with pytest.raises(InputError, match="scaled to length 1 over 3 features"):
        ingest((frame, Y), tmp_path / "e.zarr", scale="unit", test=tmp_path / "wide.zarr")
    ingest((frame[["b", "a"]], Y), tmp_path / "turned.zarr", scale="unit")
    np.testing.assert_array_equal(
        run.predict(tmp_path / "turned.zarr", execution=HERE), run.predict(frame, execution=HERE)
    )


@pytest.mark.parametrize("missing", [np.nan, None, "", "?"])
def test_a_missing_label_is_no_class(missing: Any, tmp_path: Path) -> None:
    numbers = np.where(Y == "dog", 3, 5)
    run = trained((X, numbers), tmp_path, positive=[3])
    labels = pd.Series([3, missing, 5], dtype=object)
    with pytest.raises(InputError, match=r"no label|neither numbers nor strings"):
        run.evaluate((X[:3], labels.to_numpy()), execution=HERE)


def test_one_other_column_is_not_taken_for_the_label(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    run = trained((frame, (Y == "dog").astype(int)), tmp_path)
    with pytest.raises(InputError, match="no labels"):
        run.evaluate(frame.assign(flag=1), execution=HERE)
    found = run.evaluate(frame.assign(target=(Y == "dog").astype(int)), execution=HERE)
    assert found["accuracy"] == 1.0


def test_a_usual_name_of_a_label_in_another_place_is_refused(tmp_path: Path) -> None:
    rows, later = tmp_path / "rows.csv", tmp_path / "later.csv"
    labels = (Y == "dog").astype(int)
    np.savetxt(rows, np.column_stack([labels, X]), delimiter=",")
    run = trained(rows, tmp_path, label=0)
    assert DataSet.open(tmp_path / "d.zarr").feature_names is None
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(label=labels).to_csv(later, index=False)
    with pytest.raises(InputError, match=r"the label may be 'a'.*or 'label'"):
        run.evaluate(later, execution=HERE)
    frame.assign(label=labels)[["label", "a", "b"]].to_csv(later, index=False)
    assert run.evaluate(later, execution=HERE)["accuracy"] == 1.0
