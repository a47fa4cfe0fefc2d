"""Labels are the same ones in every format: True, true and 1, yes and 1, "0" and 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.preparation import Preparation

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 2)).round(3)
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
WORDS: dict[str, Any] = {
    "bool": Y.astype(bool), "numbers": Y, "floats": Y.astype(float), "texts": Y.astype(str),
    "True": np.where(Y, "True", "False"), "true": np.where(Y, "true", "false"),
    "yes": np.where(Y, "yes", "no"), "Y": np.where(Y, "Y", "N"),
}  # fmt: skip
OF_TWO_PAIRS = [("yes", "Y")]


def frame(y: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})


def written(folder: Path, kind: str, ending: str) -> Path:
    path = folder / f"{kind}.{ending}"
    table = frame(WORDS[kind])
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_parquet(path, index=False)
    return path


@pytest.mark.one_quick
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("trained", WORDS)
def test_codes_of_every_other_kind(trained: str, ending: str, tmp_path: Path) -> None:
    data = ingest(written(tmp_path, trained, ending), tmp_path / "d.zarr", label="y")
    trained = "True" if (trained, ending) == ("bool", "csv") else trained
    prepared = Preparation.of(data)
    np.testing.assert_array_equal(data.read_codes(0, N), Y)
    for other, labels in WORDS.items():
        if (trained, other) in OF_TWO_PAIRS or (other, trained) in OF_TWO_PAIRS:
            with pytest.raises(InputError, match="does not occur in the training data"):
                prepared.y(np.asarray(labels), "LATER", 0)
            continue
        np.testing.assert_array_equal(prepared.y(np.asarray(labels), "LATER", 0), Y)
        # As the test part, and as a data set of its own.
        how: dict[str, Any] = {"label": "y", "overwrite": True}
        two = ingest(frame(WORDS[trained]), tmp_path / "e.zarr", test=frame(labels), **how)
        np.testing.assert_array_equal(two.open_part("test").read_codes(0, N), Y)
        again = ingest(frame(labels), tmp_path / "e.zarr", **how)
        np.testing.assert_array_equal(prepared.codes_of_classes(again), [0, 1])


@pytest.mark.one_quick
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_predictions_have_the_kind_of_the_labels(ending: str, tmp_path: Path) -> None:
    place, found = tmp_path / "d.zarr", dict[str, Any]()
    for kind in ("bool", "numbers", "yes"):
        ingest(written(tmp_path, kind, ending), place, label="y", overwrite=True)
        run = api.train(place, tmp_path / kind, C=10.0, class_weight={1: 2.0})
        predicted = run.predict(X)
        own = WORDS["True" if (kind, ending) == ("bool", "csv") else kind]  # True is a word there
        assert np.mean(predicted == own) > 0.9
        rows, out = written(tmp_path, kind, ending), tmp_path / "p.csv"
        run.predict_file(rows, out, overwrite=True)
        read = pd.read_csv(tmp_path / "p.csv")["label"]
        np.testing.assert_array_equal(read.astype(str), predicted.astype(str))
        assert read.dtype == pd.read_csv(written(tmp_path, kind, "csv"))["y"].dtype
        found[kind] = predicted
    kinds = {"bool": "b", "numbers": "i", "yes": "U"}
    kinds |= {"bool": "U"} if ending == "csv" else {}
    assert {kind: one.dtype.kind for kind, one in found.items()} == kinds
    again = ingest(DataSet.open(place).place, tmp_path / "e.zarr")
    assert again.classes == ["no", "yes"]


def test_booleans_have_the_fingerprint_of_zero_and_one(tmp_path: Path) -> None:
    """A run goes on with its data that were ingested by another version."""
    prints = {
        ingest(frame(WORDS[kind]), tmp_path / f"{kind}.zarr", label="y").fingerprint
        for kind in ("bool", "numbers", "texts")
    }
    assert len(prints) == 1
    data = DataSet.open(tmp_path / "bool.zarr")
    assert data.classes == [False, True]
    assert ingest(data.place, tmp_path / "again.zarr").classes[1] is True


@pytest.mark.parametrize("given", ["True", "true", 1, True])
def test_the_positive_label_of_booleans(given: Any, tmp_path: Path) -> None:
    data = ingest(frame(Y > 0), tmp_path / "d.zarr", label="y", positive=[given])
    np.testing.assert_array_equal(data.read_codes(0, N), Y)
    for kind in ("bool", "numbers", "True", "true"):
        found = Preparation.of(data).y(np.asarray(WORDS[kind]), "LATER", 0)
        np.testing.assert_array_equal(found, Y)
    signs = ingest(frame(Y > 0), tmp_path / "e.zarr", label="y", task="one-class", positive=[given])
    np.testing.assert_array_equal(signs.read_y(0, N), 2.0 * Y - 1.0)


@pytest.mark.parametrize(
    ("classes", "label"),
    [
        (["no", "yes", "maybe"], 1),
        (["no", "yes", "maybe"], "True"),
        (["no", "true"], "False"),
        (["a", "yes"], 1),
        (["True", "true"], 1),
        ([-1, 1], False),
        ([0, 2], "yes"),
        ([0, 1], "maybe"),
        (["no", "yes"], 2),
    ],
)
@pytest.mark.filterwarnings("ignore::dcsvm_dask.errors.DcsvmWarning")
def test_where_it_is_not_clear_labels_are_refused(
    classes: list[Any], label: Any, tmp_path: Path
) -> None:
    y = np.array(classes, object if isinstance(classes[0], str) else None)
    data = ingest(
        frame(y[np.arange(N) % len(classes)]),
        tmp_path / "d.zarr",
        label="y",
    )
    with pytest.raises(InputError, match="does not occur in the training data"):
        Preparation.of(data).y(np.array([label]), "LATER", 0)


@pytest.mark.parametrize(
    ("named", "others"),
    [("yes", ("bool", "numbers", "floats", "texts")), ("1", ("bool", "yes", "True", "Y"))],
)
def test_a_positive_label_is_found_again_in_other_formats(
    named: str, others: tuple[str, ...], tmp_path: Path
) -> None:
    kind = "yes" if named == "yes" else "numbers"
    path = written(tmp_path, kind, "csv")
    data = ingest(path, tmp_path / "d.zarr", label="y", positive=[named])
    for other in others:
        found = Preparation.of(data).y(np.asarray(WORDS[other]), "LATER", 0)
        np.testing.assert_array_equal(found, Y, err_msg=other)


def test_an_evaluation_without_a_positive_label_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "yes", "csv")
    data = ingest(path, tmp_path / "d.zarr", label="y", positive=["yes"])
    run = api.train(data, tmp_path / "run", execution=api.Execution(workers=0), quiet=True)
    assert run.evaluate(path)["warnings"] == []
    [said] = run.evaluate(frame(np.where(Y, "si", "no")))["warnings"]
    assert said.startswith("no evaluated row has a label that counts as positive (yes), and every")


@pytest.mark.parametrize("classes", [[1, 2], [0, 1, 2], [-1, 1], ["a", "b"]])
def test_booleans_are_no_labels_of_other_classes(classes: list[Any], tmp_path: Path) -> None:
    """True is equal to 1."""
    labels = np.array(classes, object)[np.arange(N) % len(classes)]
    frame(labels).to_csv(tmp_path / "t.csv", index=False)
    data = ingest(tmp_path / "t.csv", tmp_path / "d.zarr", label="y")
    with pytest.raises(InputError, match=r"the label (True|False) does not occur"):
        Preparation.of(data).y(Y.astype(bool), "LATER", 0)
