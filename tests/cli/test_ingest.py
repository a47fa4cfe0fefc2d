"""dcsvm ingest and dcsvm info, as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dcsvm_dask.cli import COMMANDS, main
from dcsvm_dask.storage.dataset import DataSet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)).round(3)
WORDS = np.array(["cat", "dog", "emu"])[np.arange(80) % 3]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "pets.csv"
    rows = [f"{w},{','.join(map(str, x))}" for w, x in zip(WORDS, X.tolist(), strict=True)]
    path.write_text("\n".join(["kind,a,b,c", *rows]) + "\n")
    return path


def call(*arguments: Any) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def test_ingest_and_info(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "pets.zarr"
    done = call(
        "ingest", table, "--out", out, "--label", "kind", "--positive", "dog,emu", "--scale",
        "minmax", "--test-fraction", "0.25", "--seed", "3", "--chunk-rows", "16",
    )  # fmt: skip
    assert done.exit_code == 0
    assert "3 features, dense, chunks of 16 rows, scaling minmax" in done.stdout
    assert "class 1 is dog, emu of the source" in done.stdout
    order = np.random.default_rng(3).permutation(80)[:60]
    data = DataSet.open(out)
    wanted = X[order].astype(np.float32).astype(float)
    wanted = (wanted - wanted.min(axis=0)) / (wanted.max(axis=0) - wanted.min(axis=0))
    np.testing.assert_allclose(data.rows.read(0, 60), wanted, atol=1e-6)
    np.testing.assert_array_equal(data.read_codes(0, 60), WORDS[order] != "cat")
    shown = call("info", out, "--json")
    found = json.loads(shown.stdout)
    assert found["classes"] == [-1, 1]
    assert found["positive"] == ["dog", "emu"]
    assert found["parts"]["train"]["rows"] == 60
    assert found["parts"]["test"]["rows"] == 20
    assert found["parts"]["train"]["fingerprint"] == data.fingerprint
    part = json.loads(call("info", out / "test", "--json").stdout)
    assert list(part["parts"]) == ["test"]
    assert call("info", out).stdout == done.stdout


def test_json_is_alone_on_standard_output(table: Path, tmp_path: Path) -> None:
    done = call("ingest", table, "--out", tmp_path / "p.zarr", "--label", "0", "--json")
    assert json.loads(done.stdout)["classes"] == ["cat", "dog", "emu"]
    assert done.stderr == ""


def test_quiet_says_nothing(table: Path, tmp_path: Path) -> None:
    done = call("ingest", table, "--out", tmp_path / "p.zarr", "--label", "kind", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--label", "nose"], "no column 'nose'; there are: kind, a, b, c"),
        (["--rows", "5"], "--rows 5: give START:STOP"),
        (["--rows", "9:5"], "rows = 9:5"),
        (["--label", "kind", "--positive", "cow"], "--positive cow:"),
        (["--label", "kind", "--test", "none.csv"], "none.csv: there is no such file"),
    ],
)
def test_errors_are_one_line_and_an_exit_status(
    arguments: list[str], said: str, table: Path, tmp_path: Path
) -> None:
    done = call("ingest", table, "--out", tmp_path / "p.zarr", *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("dcsvm: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert call("info", tmp_path / "p.zarr").exit_code == 2


def test_overwrite(table: Path, tmp_path: Path) -> None:
    arguments = ("ingest", table, "--out", tmp_path / "p.zarr", "--label", "kind")
    assert call(*arguments).exit_code == 0
    refused = call(*arguments)
    assert refused.exit_code == 2
    assert "--overwrite" in refused.stderr
    assert call(*arguments, "--overwrite", "--rows", ":40", "--sparse").exit_code == 0
    data = DataSet.open(tmp_path / "p.zarr")
    assert data.n_rows == 40
    assert data.is_sparse


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from click.testing import CliRunner; from dcsvm_dask.cli import main; "
        "shown = CliRunner().invoke(main, ['--help']).stdout; print(shown); "
        "sys.exit(bool({'numpy', 'numba', 'zarr', 'dask'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, line in COMMANDS.items():
        assert name in done.stdout
        assert line.split()[0] in done.stdout
