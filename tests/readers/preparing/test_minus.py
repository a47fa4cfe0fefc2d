"""Negative numbers with the minus of typesetting, as web pages and LibreOffice write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.prediction.batches import open_batches
from dcsvm_dask.readers.preparing.cells import MINUS, numbers_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.preparation import Preparation

N = 60
X = np.random.default_rng(0).normal(size=(N, 2)).round(3)


def written(path: Path, y: list[str]) -> Path:
    rows = [f"{a};{b};{c}".replace("-", MINUS) for (a, b), c in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join(["a;b;y", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("word", "number"),
    [(f"{MINUS}5", -5.0), (f"{MINUS}.5", -0.5), (f"{MINUS}1,200.5", -1200.5), (f"${MINUS}3", -3.0)],
)
def test_one_form(word: str, number: float) -> None:
    values, wrong, _ = numbers_of(pa.array([word]), ".")
    assert values.tolist() == [number]
    assert not wrong.any()


@pytest.mark.parametrize("word", [f"5{MINUS}7", f"{MINUS}a", MINUS])
def test_no_numbers(word: str) -> None:
    assert numbers_of(pa.array([word]), ".")[1].all()


def test_features_and_labels(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ["1", "-1"] * (N // 2))
    data = ingest(path, tmp_path / "d.zarr", scale="none")
    assert np.allclose(data.rows.read(0, N), X, atol=1e-6)
    assert data.classes == [-1, 1]


def test_targets(tmp_path: Path) -> None:
    targets = [f"{value:.2f}" for value in (X[:, 0] * X[:, 1] - 0.5).tolist()]
    path = written(tmp_path / "a.csv", targets)
    data = ingest(path, tmp_path / "d.zarr", task="regression")
    assert data.read_y(0, N).tolist() == [float(word) for word in targets]


def test_svmlight_text_is_refused_by_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text(f"1 1:2\n2 1:{MINUS}5\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: the value is not a number.*U\+2212.*write -"):
        ingest(path, tmp_path / "d.zarr")


@pytest.mark.parametrize("dash", ["\u2013", "\u2010", "\uff0d"])
def test_other_dashes_are_refused_by_the_reason(dash: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"a,b,y\n1,2,u\n3,{dash}4,v\n5,6,v\n7,8,u\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"line 3.*U\\+{ord(dash):04X}.*write -"):
        ingest(path, tmp_path / "d.zarr", label="y")


@pytest.mark.parametrize("word", [f"{MINUS}5.5", f'"{MINUS}5.5"', "(5.50)", '"(5.50)"'])
@pytest.mark.parametrize("words", [False, True])
def test_later_tables_have_all_forms(word: str, words: bool, tmp_path: Path) -> None:
    rows = [f"{a},{b},{'uv'[k % 2]},{k % 3 % 2}" for k, (a, b) in enumerate(X.tolist())]
    first = tmp_path / "a.csv"
    first.write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    how: dict[str, Any] = {"one_hot": ["c"]} if words else {"drop": ["c"]}
    prepared = Preparation.of(ingest(first, tmp_path / "d.zarr", scale="none", **how))
    later = tmp_path / "b.csv"
    later.write_text(f"a,b,c\n1,2,u\n{word},3,v\n4,{word},v\n", encoding="utf-8")
    (batch,) = open_batches(str(later), prepared, labelled=False).batches()
    found = np.asarray(batch.read())[:, :2]
    assert found.tolist() == [[1, 2], [-5.5, 3], [4, -5.5]]
    later.write_text("a,b,c\n1,2,u\n(x),3,v\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 3: column 1 .* is not a number: '\(x\)'"):
        [*open_batches(str(later), prepared, labelled=False).batches()]
    later.write_text("a,b,c\n1,2,u\n\u20134,3,v\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 3: .*its dash is U\+2013, no minus: write -$"):
        [*open_batches(str(later), prepared, labelled=False).batches()]
    later.write_text("a,b,c\nNA,2,u\n4,3,v\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: column 1 \('a'\) is empty.*; fill in"):
        [*open_batches(str(later), prepared, labelled=False).batches()]


@pytest.mark.parametrize(
    ("cells", "is_doubtful"),
    [(["1,234", "5"], True), (["1,234", "5.5"], False), (["1,234", "2,345,678"], False)],
)
def test_commas_of_later_tables_are_doubted(
    cells: list[str], is_doubtful: bool, tmp_path: Path
) -> None:
    rows = [f"{abs(a) * 1e3},{'uv'[k % 2]},{k % 3 % 2}" for k, (a, _) in enumerate(X.tolist())]
    first = tmp_path / "a.csv"
    first.write_text("\n".join(["a,c,y", *rows]) + "\n")
    prepared = Preparation.of(ingest(first, tmp_path / "d.zarr", one_hot=["c"]))
    later = tmp_path / "b.csv"
    later.write_text("a;c\n" + "".join(f"{cell};u\n" for cell in cells))
    found = open_batches(str(later), prepared, labelled=False)
    assert sum(batch.n_rows for batch in found.batches()) == 2
    assert len(found.doubts) == is_doubtful
    for message in found.doubts:
        assert "column 'a' with a comma, such as '1,234', all have three digits after it" in message
        assert message.endswith("write a point there, as in the training table")


@pytest.mark.parametrize("labels", [["(1)", "(2)"], [f"{MINUS}1", "1"], ['"a;(1)"', '"b;(2)"']])
def test_labels_of_later_tables_stay(labels: list[str], tmp_path: Path) -> None:
    y = labels * (N // 2)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, minus in zip(paths, ("-", MINUS), strict=True):
        rows = [f"{a};{c};{b}" for (a, b), c in zip(X.tolist(), y, strict=True)]
        path.write_text("a;y;b\n" + "\n".join(rows).replace("-", minus) + "\n", encoding="utf-8")
    data = ingest(paths[0], tmp_path / "d.zarr", test=paths[1], label="y", scale="none")
    later = DataSet.open(tmp_path / "d.zarr" / "test")
    np.testing.assert_array_equal(later.rows.read(0, N), data.rows.read(0, N))
    np.testing.assert_array_equal(later.read_y(0, N), data.read_y(0, N))
