"""Weights of rows in data sets: where they come from, what is left out, what is refused."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file

from dcsvm_dask.cli import main
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.split import split_order
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers import weights as weights_of_files
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.storage.dataset import DataSet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = np.where(X[:, 0] > 0, 1, -1)
WEIGHTS = RNG.choice([0.0, 0.3, 1.0, 2.5], 300)


def read(data: DataSet) -> tuple[Any, Any, Any]:
    codes = data.read_codes(0, data.n_rows)
    return (
        data.rows.read(0, data.n_rows),
        np.array(data.classes)[codes],
        data.read_weights(0, data.n_rows),
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    dump_svmlight_file(X.astype(np.float64), Y, str(tmp_path / "a.svm"), zero_based=False)
    np.savez(tmp_path / "a.npz", X_train=X, y_train=Y)
    np.savetxt(tmp_path / "w.txt", WEIGHTS)
    with gzip.open(tmp_path / "w.txt.gz", "wb") as file:
        file.write("".join(f"{w}\n" for w in WEIGHTS).encode() + b"\n")
    return tmp_path


@pytest.mark.one_quick
@pytest.mark.parametrize("source", ["a.svm", "a.npz"])
@pytest.mark.parametrize("weights", ["w.txt", "w.txt.gz", None])
@pytest.mark.parametrize(
    "words", [{}, {"rows": (20, 200)}, {"shuffle": True}, {"test_fraction": 0.25}]
)
def test_rows_have_their_weights(
    source: str, weights: str | None, words: dict[str, Any], files: Path
) -> None:
    given = WEIGHTS if weights is None else files / weights
    data = ingest(files / source, files / "d.zarr", weights=given, scale="none", **words)
    low, high = words.get("rows", (0, 300))
    kept = low + np.flatnonzero(WEIGHTS[low:high])
    if "rows" not in words and words:
        fraction, shuffle = words.get("test_fraction"), words.get("shuffle", False)
        order, held_out = split_order(len(kept), fraction, shuffle, 0, classes=Y[kept])
        if held_out is not None:
            held = kept[held_out]
            test = read(data.open_part("test"))
            np.testing.assert_allclose(test[0], X[held], atol=1e-6)
            assert test[2] is None
        kept = kept[order]
    rows, labels, found = read(data)
    np.testing.assert_allclose(rows, X[kept], atol=1e-6)
    np.testing.assert_array_equal(labels, Y[kept])
    np.testing.assert_array_equal(found, WEIGHTS[kept])
    index = RNG.integers(0, len(kept), 50)
    np.testing.assert_array_equal(data.take_weights(index), WEIGHTS[kept][index])
    assert data.weights == {"least": 0.3, "most": 2.5, "sum": pytest.approx(WEIGHTS[kept].sum())}


def test_weights_belong_to_what_data_are(files: Path) -> None:
    data = ingest((X, Y), files / "d.zarr", weights=WEIGHTS)
    plain = ingest((X[WEIGHTS > 0], Y[WEIGHTS > 0]), files / "p.zarr")
    ones = ingest((X, Y), files / "o.zarr", weights=(WEIGHTS > 0).astype(int))
    other = ingest((X, Y), files / "x.zarr", weights=2 * WEIGHTS)
    again = ingest(data.url, files / "again.zarr", chunk_rows=17)
    assert ones.fingerprint == plain.fingerprint
    assert ones.weights is None
    assert again.fingerprint == data.fingerprint
    np.testing.assert_array_equal(read(again)[2], read(data)[2])
    assert len({one.fingerprint for one in (data, plain, other)}) == 3


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(299), "299 weights, but .* has at least 300 rows"),
        (np.ones(301), "301 weights, but .* has 300 rows"),
        (-WEIGHTS, "weight 1 is"),
        (np.full(300, np.nan), "weight 1 is nan"),
        (np.ones((300, 1)), "must be a vector of numbers"),
        (np.zeros(300), "no rows left"),
        (np.array(["1"] * 300), "must be a vector of numbers"),
        ("1\n2 3\n", "line 2: '2 3' is not a number"),
        ("1\n\n3\n", "line 2: '' is not a number"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: Any, message: str, tmp_path: Path) -> None:
    if isinstance(weights, str):
        (tmp_path / "w.txt").write_text(weights)
        weights = tmp_path / "w.txt"
    elif weights.dtype.kind == "f" and (weights < 0).any():
        weights = np.sort(weights)
    with pytest.raises(InputError, match=message):
        ingest((X, Y), tmp_path / "d.zarr", weights=weights)
    assert not (tmp_path / "d.zarr" / "dataset.json").exists()


def test_the_command_takes_a_file_of_weights_and_reports_them(files: Path) -> None:
    runner, out = CliRunner(), files / "d.zarr"
    words = ["ingest", str(files / "a.svm"), "--out", str(out), "--weights", str(files / "w.txt")]
    done = runner.invoke(main, words)
    assert done.exit_code == 0
    shown = runner.invoke(main, ["info", str(out)]).output
    total = WEIGHTS.sum()
    assert f"rows weigh 0.3 to 2.5, {total:g} together" in shown
    assert f"{np.count_nonzero(WEIGHTS)} rows" in shown


def test_a_file_of_weights_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = np.random.default_rng(0).integers(0, 9, 1_000_000)
    file = tmp_path / "w.txt"
    file.write_text("\n".join(map(str, wanted)) + "\n\n \n")
    Weights.of(file)  # imports and compiles
    tracemalloc.start()
    found = Weights.of(file).values
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(found, wanted)
    assert peak < 3 * found.nbytes + (10 << 20)
    monkeypatch.setattr(weights_of_files, "TEXT_BYTES", 16)
    lines = [f"{value}" for value in range(100)]
    file.write_text("\n".join(lines) + 20 * "\n")
    np.testing.assert_array_equal(Weights.of(file).values, np.arange(100))
    for number, wrong in ((60, "x"), (43, "")):
        file.write_text("\n".join([*lines[: number - 1], wrong, *lines[number:]]))
        with pytest.raises(InputError, match=f"line {number}: '{wrong}' is not a number"):
            Weights.of(file)
