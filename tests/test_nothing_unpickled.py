"""No byte of a run, a data set or a file is ever taken for code."""

from __future__ import annotations

import ast
import io
import json
import pickle
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcsvm_dask
from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.storage.arrays import read_array, write_array
from dcsvm_dask.storage.location import Location

PACKAGE = Path(dcsvm_dask.__file__).parent
HERE = api.Execution(workers=0)
MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "code", "runpy"}
CALLS = {"eval", "exec", "compile", "__import__"}


def test_the_package_has_no_word_for_it() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").split(".")[0]]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names = [name for name in (node.func.id,) if name in CALLS]
            elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                names = ["pickle"]
            found = (MODULES | CALLS) & set(names)
            wrong += [f"{path.relative_to(PACKAGE)}: {name}" for name in found]
    assert not wrong, "\n".join(wrong)


def test_runs_are_opened_resumed_and_predicted_from_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(resources.files("dcsvm_dask.demo") / "covtype.csv.xz")
    api.ingest(source, tmp_path / "d.zarr", label="lodgepole_pine", rows=(0, 160))
    words: dict[str, Any] = {"gamma": 1e-6, "C": 4.0, "clusters": (3,)}
    api.train(tmp_path / "d.zarr", tmp_path / "run", execution=HERE, quiet=True, stop_at=1, **words)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something is unpickled")

    with monkeypatch.context() as patch:
        for name in ("load", "loads", "Unpickler", "_Unpickler", "_load", "_loads"):
            patch.setattr(pickle, name, refuse)
        with pytest.raises(AssertionError, match="something is unpickled"):
            np.load(io.BytesIO(_npy(np.array([{}], dtype=object))), allow_pickle=True)
        run = api.resume(tmp_path / "run", execution=HERE, quiet=True, stop_at=0)
        assert run.status()["state"] == "complete"
        run = api.open_run(tmp_path / "run")
        for mode in ("exact", "early"):
            assert run.predict(np.zeros((2, 54)), mode=mode, execution=HERE).shape == (2,)
        run.evaluate(tmp_path / "d.zarr", execution=HERE)
        run.export(tmp_path / "model")


def _npy(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize("name", ["rows.npy", "rows.npz"])
def test_numpy_files_of_objects_are_refused(name: str, tmp_path: Path) -> None:
    values = np.array([[1, {}], [0, []]], dtype=object)
    path = tmp_path / name
    save: Callable[..., Any] = np.savez if name.endswith("z") else np.save
    save(path, **({"X": values, "y": np.array([0, 1])} if name.endswith("z") else {"arr": values}))
    with pytest.raises(InputError, match="has Python objects, which are not loaded"):
        list(open_source(path).blocks())


@pytest.mark.parametrize(
    "change",
    [
        {"data_type": "object"},
        {"data_type": "string"},
        {"data_type": {"name": "numpy.void", "configuration": {}}},
        {"codecs": [{"name": "numcodecs.pickle"}]},
        {"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]},
        {"codecs": [{"name": "vlen-utf8"}, {"name": "crc32c"}]},
        {"storage_transformers": [{"name": "pickle"}]},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_arrays_of_other_types_or_codecs_are_refused(
    change: dict[str, Any], tmp_path: Path
) -> None:
    place = Location.of(tmp_path / "a")
    write_array(place, np.arange(10.0))
    about = json.loads((place / "zarr.json").read_bytes())
    (place / "zarr.json").write_json({**about, **change})
    with pytest.raises(InputError, match="damaged array metadata"):
        read_array(place)
