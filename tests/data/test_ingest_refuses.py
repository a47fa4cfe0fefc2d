"""What an ingest refuses: one sentence with file and place, and nothing left that opens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.dataset import DataSet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).astype(np.float32)
Y = np.arange(60) % 2

BAD_FILES = [
    ("a.svm", "1 1:1\n-1 1:x\n", "line 2: the value is not a number: '1:x'"),
    ("a.svm", "1 1:1\n-1 2:1 1:1\n", "line 2: indices must ascend"),
    ("a.svm", "1 1:1\n-1 1:nan\n", "line 2: the value is NaN"),
    ("a.svm", "1\n-1\n", "no feature has a value"),
    ("a.svm", "1 1:1\n1 2:1\n", "every row has the label 1"),
    ("a.csv", "1,2,0\n1,2\n", "line 2: fewer than 3 cells"),
    ("a.csv", "1,2,0\n1,,1\n", "line 2: column 2 is empty"),
    ("a.csv", "1,2,0\n1,inf,1\n", "line 2: column 2 is NaN, infinite"),
    ("a.csv", "1,2,0\n1,2,0\n", "every row has the label 0"),
    ("a.csv", "", "empty"),
    ("a.csv", "".join(f"1,{k},{k / 7}\n" for k in range(40)), "the labels cannot be classes"),
    ("a.npz", "PK not really", "damaged"),
]


@pytest.mark.parametrize(("name", "text", "said"), BAD_FILES)
def test_bad_files(name: str, text: str, said: str, tmp_path: Path) -> None:
    source, out = tmp_path / name, tmp_path / "out.zarr"
    source.write_text(text)
    with pytest.raises(InputError) as caught:
        ingest(source, out)
    assert str(caught.value).startswith(str(source))
    assert said in str(caught.value)
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scale": "max"}, "scale must be one of auto, none, minmax, standard, unit, got 'max'"),
        ({"test_fraction": 1.0}, "test_fraction must be between 0 and 1, got 1.0"),
        ({"test_fraction": 0.001}, "must leave rows in both parts, got 0.001 of 60 rows"),
        ({"test_fraction": 0.5, "test": (X, Y)}, "not both"),
        ({"train_rows": 5}, "train_rows needs a test_fraction or shuffle"),
        (
            {"train_rows": 0, "shuffle": True},
            "train_rows must be a whole number of at least 1, got 0",
        ),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": 0.5, "shuffle": True}, "seed must be a whole number of at least 0, got 0.5"),
        ({"chunk_rows": 0}, "chunk_rows must be a whole number of at least 1, got 0"),
        ({"chunk_rows": 1.5}, "chunk_rows must be a whole number of at least 1, got 1.5"),
        ({"rows": (5, 5)}, "0 <= START < STOP, got 5:5"),
        ({"rows": (100, 200)}, "no rows left"),
        ({"rows": (-3, None)}, "0 <= START < STOP, got -3:None"),
        ({"positive": [7]}, "no such label, but 0, 1"),
        ({"positive": [0, 1]}, "leave out those of the other class"),
        ({"test": (X[:, :2], Y)}, "2 features, but"),
        ({"test": (X[:9], np.full(9, 5))}, "has the label 5, which does not occur in"),
        ({"test": (X[:9], np.full(8, 1))}, "9 rows, but labels of shape (8,)"),
        ({"test": "nowhere.svm"}, "there is no such file"),
        ({"label": ["y"]}, "label must be the name or the position of a column, got ['y']"),
        ({"label": True}, "label must be the name or the position of a column, got True"),
    ],
)
def test_bad_parameters_and_test_parts(options: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        ingest((X, Y), tmp_path / "out.zarr", **options)
    assert said in str(caught.value)
    assert not (tmp_path / "out.zarr").exists()


def test_a_label_for_svmlight(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 1:2\n")
    with pytest.raises(InputError, match="label 'y' cannot be used with svmlight text"):
        ingest(tmp_path / "a.svm", tmp_path / "out.zarr", label="y")


def test_test_columns_of_other_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    (tmp_path / "b.csv").write_text("b,c,y\n1,2,0\n3,4,1\n")
    with pytest.raises(InputError, match=r"b.csv: lacks 1 of the 2 features .*: 'a'; it has: b, c"):
        ingest(tmp_path / "a.csv", tmp_path / "out.zarr", test=tmp_path / "b.csv")


@pytest.mark.parametrize("name", ["parts-2019/thesis.tex", "run.json", "lock.json", "zarr.txt"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_a_foreign_folder_is_left_alone(name: str, overwrite: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text("important")
    before = sorted(out.rglob("*"))
    with pytest.raises(InputError, match=r"is neither empty nor a data set|is not a lock"):
        ingest((X, Y), out, overwrite=overwrite)
    assert sorted(out.rglob("*")) == before
    assert (out / name).read_text() == "important"


def test_only_attempts_are_deleted_beside_a_data_set(tmp_path: Path) -> None:
    ingest((X, Y), tmp_path)
    for name in ("parts-2019", "parts-0123456789ab"):
        (tmp_path / name).mkdir()
    data = ingest((X, Y), tmp_path, overwrite=True)
    left = sorted(p.name for p in tmp_path.iterdir() if p.is_dir())
    assert left == sorted(["lock", "parts-2019", data.attempt])


@pytest.mark.parametrize("where", [(59, 2), (0, 0)])
def test_nan_names_row_and_column(where: tuple[int, int], tmp_path: Path) -> None:
    bad = X.copy()
    bad[where] = np.nan
    with pytest.raises(InputError, match=rf"row {where[0]}, column {where[1]} .* is NaN"):
        ingest((bad, Y), tmp_path / "out.zarr")


def test_scaling_that_leaves_float32(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"after scaling: row 1, column 0 .* too large"):
        ingest(
            (np.array([[0], [1e-30]]), [0, 1]),
            tmp_path / "out.zarr",
            scale="minmax",
            test=(np.array([[0], [1e30]]), [0, 1]),
        )
    assert not (tmp_path / "out.zarr").exists()


@pytest.mark.parametrize(
    "commit",
    [b"", b"{", b"[]", b"{}", b'{"format": "dcsvm-dataset"}', b"\xff\xfe", b"null"],
)
def test_damaged_commits(commit: bytes, tmp_path: Path) -> None:
    ingest((X, Y), tmp_path / "out.zarr")
    (tmp_path / "out.zarr" / "dataset.json").write_bytes(commit)
    with pytest.raises(InputError, match=r"out.zarr"):
        DataSet.open(tmp_path / "out.zarr")


def test_what_is_no_data_set(tmp_path: Path) -> None:
    ingest((X, Y), tmp_path / "out.zarr")
    for name in ("none.zarr", "out.zarr/test", "out.zarr/other", "."):
        with pytest.raises(InputError, match=r"dcsvm ingest|has no part"):
            DataSet.open(tmp_path / name)


def test_missing_arrays(tmp_path: Path) -> None:
    data = ingest((X, Y), tmp_path / "out.zarr", scale="minmax")
    held = tmp_path / "out.zarr" / data.attempt
    (held / "train" / "codes" / "zarr.json").unlink()
    with pytest.raises(InputError, match=r"codes/zarr\.json: damaged: it is missing"):
        data.read_codes(0, 5)
    (held / "scaling" / "factor" / "zarr.json").unlink()
    with pytest.raises(InputError, match=r"factor/zarr\.json: damaged: it is missing"):
        DataSet.open(tmp_path / "out.zarr")


SLOW_INGEST = """
import signal, sys, time
import numpy as np
from dcsvm_dask.data import ingest as module
from dcsvm_dask.data.ingest import ingest

def linger(*args, **kwargs):
    print("written", flush=True)
    time.sleep(600)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
module.commit = linger  # all arrays are there, the commit is not
X = np.random.default_rng(0).normal(size=(3000, 4))
ingest((X, np.arange(3000) % 2), sys.argv[1], overwrite=True)
"""


@pytest.mark.one_quick
@pytest.mark.parametrize("before", [False, True])
def test_an_ingest_that_is_killed_leaves_nothing_that_opens(before: bool, tmp_path: Path) -> None:
    out = tmp_path / "out.zarr"
    first = ingest((X, Y), out) if before else None
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_INGEST, str(out)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    process.kill()
    process.wait()
    process.stdout.close()
    if first is None:
        with pytest.raises(InputError, match="its ingest did not end"):
            DataSet.open(out)
        ingest((X, Y), out)  # needs no --overwrite: there is no data set
        assert len([p for p in out.iterdir() if p.name.startswith("parts-")]) == 1
    again = DataSet.open(out)
    np.testing.assert_array_equal(again.rows.read(0, 60), X)


@pytest.mark.long
def test_an_interrupted_ingest_cleans_up(tmp_path: Path) -> None:
    out = tmp_path / "out.zarr"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_INGEST, str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=120) != 0
    process.stdout.close()
    assert not out.exists()
