"""Negative numbers with the minus of typesetting, as web pages and LibreOffice write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.cells import MINUS, numbers_of

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
