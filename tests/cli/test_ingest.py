"""dcsvm ingest and dcsvm info, as a user calls them."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dcsvm_dask import api
from dcsvm_dask.cli import COMMANDS, main
from dcsvm_dask.data import ingest as ingesting
from dcsvm_dask.storage.dataset import DataSet
from tests.stored import split_of

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


def usual_values(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}


def test_the_command_and_both_functions_have_the_same_parameters_and_defaults(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, Any] = {}

    def noted(source: str, out: str, **options: Any) -> DataSet:
        found.update(options)
        return real(source, out, label="kind")

    public, real = usual_values(api.ingest), ingesting.ingest
    assert {**usual_values(real), "client": None} == {**public, "of_run": None}
    monkeypatch.setattr(ingesting, "ingest", noted)
    assert call("ingest", table, "--out", tmp_path / "d.zarr").exit_code == 0
    for name in ("report", "client"):  # of a program, not of a user at a terminal
        public.pop(name)
        found.pop(name, None)
    assert {**found, "ordinal": found["ordinal"] or None} == public


def test_ingest_and_info(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "pets.zarr"
    done = call(
        "ingest", table, "--out", out, "--label", "kind", "--positive", "dog,emu", "--scale",
        "minmax", "--test-fraction", "0.25", "--seed", "3", "--chunk-rows", "16",
    )  # fmt: skip
    assert done.exit_code == 0
    assert "3 features, dense, chunks of 16 rows, scaling minmax" in done.stdout
    assert "class 1 is dog, emu of the source" in done.stdout
    order, _ = split_of(WORDS != "cat", 20, seed=3)
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
        (["--rows", "9:5"], "rows must be START:STOP with 0 <= START < STOP, got 9:5"),
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


def test_what_was_read_is_shown(table: Path, tmp_path: Path) -> None:
    out, weights = tmp_path / "pets.zarr", tmp_path / "weights"
    weights.write_text("\n".join(["0"] * 5 + ["1"] * 75))
    done = call(
        "ingest", table, "--out", out, "--label", "kind", "--drop", "b", "--weights", weights,
        "--shuffle", "--train-rows", "60",
    )  # fmt: skip
    low, high = X[5:].min(axis=0).astype(float), X[5:].max(axis=0).astype(float)
    for line in (
        "read as text with a header, separator ',', encoding utf-8; label: column 'kind'\n",
        f"features: a {low[0]:.10g}..{high[0]:.10g}, c {low[2]:.10g}..{high[2]:.10g}\n",
        "rows dropped: 5 of weight 0, 15 beyond --train-rows\n",
        "class cat: ",
    ):
        assert line in done.stdout
    found = json.loads(call("info", out, "--json").stdout)
    assert found["reading"] == {
        "format": "text",
        "label": "kind",
        "label_position": 0,
        "header": True,
        "separator": ",",
        "encoding": "utf-8",
        "first_index": None,
        "index": [],
    }
    assert found["feature_names"] == ["a", "c"]
    assert found["ranges"] == [[low[0], high[0]], [low[2], high[2]]]
    assert found["dropped"] == {"weight_0": 5, "train_rows": 15, "rows": [None, None]}
    assert found["warnings"] == []


def test_the_first_index_of_svmlight_text_is_shown(tmp_path: Path) -> None:
    for first in (0, 1):
        file, out = tmp_path / f"{first}.svm", tmp_path / f"{first}.zarr"
        file.write_text(f"1 {first}:0.5 7:2\n-1 2:1\n")
        shown = call("ingest", file, "--out", out).stdout
        assert f"read as svmlight text, feature 0 is index {first}, encoding utf-8" in shown
        assert json.loads(call("info", out, "--json").stdout)["reading"]["first_index"] == first


def test_only_some_features_of_wide_data_are_shown(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.column_stack([np.eye(40), np.arange(40) % 2]))
    done = call("ingest", tmp_path / "a.npy", "--out", tmp_path / "a.zarr", "--rows", "2:")
    assert "read as NumPy matrix; label: column 41 (--label 40)" in done.stdout
    assert "features: 0 0..0, 1 0..0, 2 0..1, 3 0..1," in done.stdout
    assert " 7 0..1 and 32 more\n" in done.stdout
    assert "rows dropped: all outside of 2: (--rows)" in done.stdout


def test_warnings_are_lines_on_standard_error(tmp_path: Path) -> None:
    rows = "".join(f"{k},{x[0]},{k % 2}\n" for k, x in enumerate(X.tolist()))
    (tmp_path / "a.csv").write_text(",a,b\n" + rows)
    done = call("ingest", tmp_path / "a.csv", "--out", tmp_path / "a.zarr", "--quiet")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith(f"dcsvm: warning: {tmp_path / 'a.csv'}: 1 feature looks like")
    assert done.stderr.count("\n") == 1
    assert "  warning: " in call("info", tmp_path / "a.zarr").stdout
    words = ("--out", tmp_path / "b.zarr", "--drop", "Unnamed: 0")
    assert call("ingest", tmp_path / "a.csv", *words).stderr == ""


def test_text_in_another_encoding(tmp_path: Path) -> None:
    text = "a,ort\n" + "1,Jä\n2,Jö\n" * 9
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    done = call("ingest", tmp_path / "a.csv", "--out", tmp_path / "a.zarr")
    assert done.exit_code == 2
    assert "a.csv, line 2: the byte 0xe4 is not utf-8; give the" in done.stderr
    words = ("--out", tmp_path / "a.zarr", "--encoding", "latin-1")
    done = call("ingest", tmp_path / "a.csv", *words)
    assert "class Jä: 9 rows" in done.stdout
    assert "class Jö: 9 rows" in done.stdout
    assert "encoding iso8859-1" in done.stdout


def test_a_label_that_may_be_two_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y,species\n" + "1,2,a\n3,4,b\n" * 5)
    done = call("ingest", tmp_path / "a.csv", "--out", tmp_path / "a.zarr")
    assert done.exit_code == 2
    assert "the label may be 'species', the last column, or 'y'" in done.stderr
