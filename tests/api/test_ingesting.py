"""Rows in memory or in Dask that `train` takes: their data set lies beside the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

from dcsvm_dask import Execution, api
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.storage.dataset import DataSet

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
HOW: dict[str, Any] = {
    "execution": Execution(workers=0),
    "quiet": True,
    "report": False,
    "gamma": 1.0,
    "C": 4.0,
    "scale": "standard",
}


def in_dask() -> tuple[Any, Any]:
    return da.from_array(X, chunks=(150, 2)), da.from_array(Y, chunks=90)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the decision values of the run that a data set of the same rows trains."""
    folder = tmp_path_factory.mktemp("wanted")
    api.ingest((X, Y), folder / "data.zarr", scale="standard")
    words = {key: one for key, one in HOW.items() if key != "scale"}
    return decided(api.train(folder / "data.zarr", folder / "run", **words))


def decided(run: api.Run) -> bytes:
    return run.decision_function(X).tobytes()


@pytest.mark.parametrize("named", [False, True])
def test_arrays_train_as_their_data_set_does(named: bool, wanted: bytes, tmp_path: Path) -> None:
    place = tmp_path / "run"
    if named:
        assert decided(api.train(X, y=Y, run=place, **HOW)) == wanted
        return
    assert decided(api.train(*in_dask(), place, **HOW)) == wanted


@pytest.mark.long
def test_frames_train_as_their_data_set_does(wanted: bytes, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = Y
    parted = dd.from_pandas(frame, npartitions=3)
    cases: list[tuple[Any, Any, str | None]] = [
        (frame, None, "kind"),
        (parted, None, "kind"),
        (frame.iloc[:, :3], frame["kind"], None),
        (parted[["a", "b", "c"]], parted["kind"], None),
    ]
    for k, (rows, labels, label) in enumerate(cases):
        run = api.train(rows, labels, tmp_path / str(k), label=label, **HOW)
        assert decided(run) == wanted
        found = run.predict(frame[["c", "a", "b"]])  # by names
        assert (np.asarray(found) == Y).mean() > 0.9


def test_a_resume_needs_the_run_alone(tmp_path: Path) -> None:
    run = api.train(*in_dask(), tmp_path / "run", tol=0.1, **HOW)
    words = {key: HOW[key] for key in ("execution", "quiet", "report")}
    further = api.resume(run.url, tol=1e-4, **words)
    wanted = api.train(X, Y, tmp_path / "other", tol=0.1, **HOW)
    wanted = api.resume(wanted.url, tol=1e-4, **words)
    assert decided(further) == decided(wanted)


@pytest.mark.parametrize("rows", [(X, Y), in_dask()], ids=["in memory", "of Dask"])
def test_a_run_of_rows_goes_on_with_the_same_rows(rows: tuple[Any, Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    api.train_or_resume(*rows, run, tol=0.1, **HOW)
    again = api.train_or_resume(*rows, run, tol=1e-4, **HOW)
    assert again.status()["state"] == "complete"
    assert again.folder.header["goals"]["tol"] == 1e-4
    for others in ((-X, Y), (X[1:], Y[1:]), (X, Y[::-1])):
        with pytest.raises(InputError, match=r"begun with other rows; .* go on with resume\('"):
            api.train_or_resume(*others, run, **HOW)
    with pytest.raises(InputError, match=r"begun otherwise \(gamma"):
        api.train_or_resume(*rows, run, **HOW | {"gamma": 3.0})
    assert names(tmp_path) == ["run", "run.data.zarr"]


@pytest.mark.parametrize("left", ["whole", "begun"])
def test_what_an_attempt_to_begin_has_left_is_replaced(
    left: str, wanted: bytes, tmp_path: Path
) -> None:
    api.train(-X, Y, tmp_path / "run", **HOW)  # an attempt with other rows
    shutil.rmtree(tmp_path / "run")
    if left == "begun":
        (tmp_path / "run.data.zarr" / "dataset.json").unlink()
    run = api.train(*in_dask(), tmp_path / "run", **HOW)
    assert decided(run) == wanted
    folder = tmp_path / "run.data.zarr"
    assert len([name for name in names(folder) if name.startswith("parts-")]) == 1


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "run.data.zarr"
    data = api.ingest((-X, Y), place)
    with pytest.raises(InputError, match=r"run\.data\.zarr: a data set exists there that was not"):
        api.train(*in_dask(), tmp_path / "run", **HOW)
    assert DataSet.open(place).fingerprint == data.fingerprint
    shutil.rmtree(place)
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is neither empty nor a data set"):
        api.train(*in_dask(), tmp_path / "run", **HOW)
    assert names(place) == ["notes.txt"]
    shutil.rmtree(place)
    run = api.train(*in_dask(), tmp_path / "run", **HOW)
    data = DataSet.open(place)
    with pytest.raises(InputError, match="a run exists there"):
        api.train(-X, Y, tmp_path / "run", **HOW)
    assert DataSet.open(place).attempt == data.attempt
    assert run.status()["state"] == "complete"


def test_an_estimator_overwrites_nothing_either(tmp_path: Path) -> None:
    data = api.ingest((-X, Y), tmp_path / "run.data.zarr")
    with pytest.raises(InputError, match=r"run\.data\.zarr: a data set exists there that was not"):
        DCSVC(run=tmp_path / "run").fit(X, Y)
    assert DataSet.open(tmp_path / "run.data.zarr").fingerprint == data.fingerprint
    assert names(tmp_path) == ["run.data.zarr"]


def test_nothing_is_left_of_a_run_that_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="clusters: 500 clusters for 400 distinct rows"):
        api.train(*in_dask(), tmp_path / "run", clusters=(500, 2), **HOW)
    with pytest.raises(InputError, match="gamma"):
        api.train(*in_dask(), tmp_path / "run", **HOW | {"gamma": -1.0})
    with pytest.raises(InputError, match="is NaN"):
        api.train(np.where(X > 2, np.nan, X), Y, tmp_path / "run", **HOW)
    assert names(tmp_path) == []


def test_calls_that_say_too_little_or_too_much_are_one_sentence(tmp_path: Path) -> None:
    api.ingest((X, Y), tmp_path / "data.zarr")
    words = {key: one for key, one in HOW.items() if key != "scale"}
    for call, says in (
        (lambda: api.train(X, Y, **HOW), "run: name a folder"),
        (lambda: api.train(tmp_path / "data.zarr", **words), "run: name a folder"),
        (lambda: api.train(tmp_path / "data.zarr", tmp_path / "run", **HOW), "scale: is for rows"),
        (lambda: api.train(tmp_path / "data.zarr", Y, tmp_path / "run", **words), "y: is for rows"),
        (lambda: api.search(X, tmp_path / "run"), r"must be given by its path, got numpy\.ndarray"),
        (lambda: api.train_or_resume(X, Y, **HOW), "run: name a folder"),
        (lambda: api.plan(in_dask()[0], gamma=1.0), "make one of rows by"),
    ):
        with pytest.raises(InputError, match=says):
            call()
    assert names(tmp_path) == ["data.zarr"]


KILLED = """
import os, signal, sys
import dask.array as da, numpy as np
from dcsvm_dask import api
from dcsvm_dask.runtime import collection_scan

count, write = [], collection_scan.write

def killed(*words):
    found = write(*words)
    count.append(1)
    if len(count) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

collection_scan.write = killed
X = np.arange(4000.0).reshape(2000, 2)
parts = da.from_array(X, chunks=(300, 2)), da.from_array(np.arange(2000) % 2, chunks=300)
api.ingest(parts, sys.argv[1], chunk_rows=256)
"""


@pytest.mark.long
def test_a_kill_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    place = tmp_path / "data.zarr"
    ended = subprocess.run([sys.executable, "-c", KILLED, place], env=dict(os.environ))
    assert ended.returncode == -9
    assert [name for name in names(place) if name.startswith("parts-")]
    with pytest.raises(InputError, match="its ingest did not end"):
        DataSet.open(place)
    data = api.ingest(in_dask(), place)
    assert data.n_rows == 400
    assert [name for name in names(place) if name.startswith("parts-")] == [data.attempt]
