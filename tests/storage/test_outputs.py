"""No command writes over what it did not make, nor inside a run or a data set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.errors import InputError

HERE = api.Execution(workers=0)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    X = [[k % 7, k % 5] for k in range(60)]
    data = api.ingest((X, [k % 2 for k in range(60)]), folder / "d.zarr", scale="minmax")
    api.train(data.place, folder / "run", gamma=1.0, execution=HERE, quiet=True)
    return folder


def writers(home: Path) -> dict[str, Callable[..., Any]]:
    """Return what writes a file that a user names, by its ending."""
    run = api.open_run(home / "run")
    return {
        "p.csv": lambda out, **how: run.predict_file(home / "d.zarr", out, execution=HERE, **how),
        "p.npy": lambda out, **how: run.predict_file(home / "d.zarr", out, execution=HERE, **how),
        "p.zarr": lambda out, **how: run.predict_file(home / "d.zarr", out, execution=HERE, **how),
        "m.model": lambda out, **how: run.export(out, **how),
        "m.onnx": lambda out, **how: run.export(out, format="onnx", **how),
        "tables": lambda out, **how: run.report(
            out.with_name("r.html"), csv=out, compute=False, **how
        ),
    }


NAMES = ("p.csv", "p.npy", "p.zarr", "m.model", "m.onnx", "tables")


@pytest.mark.one_quick
@pytest.mark.parametrize("name", NAMES)
def test_what_is_there_is_replaced_only_when_asked_for(
    name: str, home: Path, tmp_path: Path
) -> None:
    write, out = writers(home)[name], tmp_path / name
    write(out)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"exists; name another file or give overwrite=True"):
        write(out)
    assert before == {path: path.read_bytes() for path in before}
    write(out, overwrite=True)
    assert set(before) == {path for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("inside", ["run", "run/stages/conquer", "d.zarr", "d.zarr/train"])
def test_nothing_is_written_inside_a_run_or_a_data_set(name: str, inside: str, home: Path) -> None:
    before = set(home.rglob("*"))
    for how in ({}, {"overwrite": True}):
        with pytest.raises(InputError, match=r"lies inside the (run|data set) "):
            writers(home)[name](home / inside / name, **how)
    assert before == set(home.rglob("*"))


@pytest.mark.parametrize("form", ["libsvm", "onnx"])
@pytest.mark.parametrize("name", ["run.json", "preparation.json"])
def test_an_export_does_not_replace_a_run(form: str, name: str, home: Path) -> None:
    whole = (home / "run" / name).read_bytes()
    words = ["export", str(home / "run"), "--format", form, str(home / "run" / name), "--overwrite"]
    found = CliRunner().invoke(main, words)
    assert (found.exit_code, "lies inside the run" in found.output) == (2, True)
    assert (home / "run" / name).read_bytes() == whole


def test_the_range_file_beside_a_model_is_not_replaced_either(home: Path, tmp_path: Path) -> None:
    (tmp_path / "m.model.range").write_text("mine")
    with pytest.raises(InputError, match=r"m\.model\.range exists"):
        api.open_run(home / "run").export(tmp_path / "m.model")
    assert [path.name for path in tmp_path.iterdir()] == ["m.model.range"]


def test_other_outputs_do_as_much(home: Path, tmp_path: Path) -> None:
    run, svg = api.open_run(home / "run"), tmp_path / "plan.svg"
    with pytest.raises(InputError, match="lies inside the run"):
        run.compress(home / "run" / "small", bound=0.1)
    with pytest.raises(InputError, match="lies inside the data set"):
        run.report(home / "d.zarr" / "report.html")
    with pytest.raises(InputError, match="lies inside the run"):
        api.compare([run], home / "run" / "comparison.html")
    run.report(home / "run" / "report.html", compute=False)  # where a run's report lies
    plan = ["plan", str(home / "d.zarr"), "--svg"]
    assert CliRunner().invoke(main, [*plan, str(svg)]).exit_code == 0
    svg.write_text("mine")
    found = CliRunner().invoke(main, [*plan, str(svg)])
    assert (found.exit_code, svg.read_text()) == (2, "mine")
    assert "svg: " in found.output
    assert CliRunner().invoke(main, [*plan, str(svg), "--overwrite"]).exit_code == 0
    assert svg.read_text().startswith("<svg")


def test_a_store_is_looked_at_in_the_same_way(home: Path) -> None:
    run = api.open_run(home / "run")
    run.export("memory://out/m.model")
    with pytest.raises(InputError, match=r"memory://out/m\.model exists"):
        run.export("memory://out/m.model")
    api.ingest(str(home / "d.zarr"), "memory://out/d.zarr")
    with pytest.raises(InputError, match=r"inside the data set memory://out/d\.zarr"):
        run.export("memory://out/d.zarr/a/m.model")


@pytest.mark.parametrize("name", ["report", "csv", "compare", "libsvm", "onnx", "ingest", "train"])
def test_no_file_is_called_as_standard_output_is(
    home: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run, data = api.open_run(home / "run"), home / "d.zarr"
    calls: dict[str, Callable[[], Any]] = {
        "report": lambda: run.report("-"),
        "csv": lambda: run.report(tmp_path / "r.html", csv="-"),
        "compare": lambda: api.compare([run], "-"),
        "libsvm": lambda: run.export("-", format="libsvm"),
        "onnx": lambda: run.export("-", format="onnx"),
        "ingest": lambda: api.ingest(([[0], [1]], [0, 1]), "-"),
        "train": lambda: api.train(data, "-", gamma=1.0, execution=HERE, quiet=True),
    }
    with pytest.raises(InputError, match=r"^-: standard output cannot be written to"):
        calls[name]()
    assert list(tmp_path.iterdir()) == []
