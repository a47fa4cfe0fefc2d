"""The command in a report, which trains the same model again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.cli.train import command as train_command
from dcsvm_dask.diagnostics.report.tables.about import command
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.storage.dataset import DataSet
from tests.diagnostics.report.conftest import train

JOINT = "crammer_singer"


def test_the_command_trains_the_same_model_again(trained: api.Run) -> None:
    records = read_records(trained.folder)
    words = shlex.split(command(records))
    assert words[:2] == ["dcsvm", "train"]
    context = train_command.make_context("train", words[2:])
    given = {key: context.params[key] for key in ("kernel", "gamma", "seed", "tol", "block_cap")}
    parameters: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
    parameters["clusters"] = (4, 2)
    assert context.params["clusters"] == "4,2"
    again = Training(C=context.params["C"], **parameters)
    settings, goals, _ = again.settle(DataSet.open(context.params["data"]))
    assert settings == Settings.from_json(records.settings)
    assert goals.tol == records.run.header["goals"]["tol"]
    assert context.params["holdout"] == records.run.header["holdout"]


def test_many_classes_are_shown_and_trained_again(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    api.ingest((X, y), tmp_path / "d.zarr", scale="standard")
    run = train(tmp_path / "d.zarr", tmp_path / "run", multiclass="ovr", gamma=0.5)
    found = tables(run.folder)
    names = ("parameters", "data_set")
    reported = {name: dict(zip(*found[name].values(), strict=True)) for name in names}
    assert reported["parameters"]["multiclass"] == "ovr"
    assert [reported["data_set"][f"class {label}"] for label in range(3)] == [50, 50, 50]
    words = shlex.split(command(read_records(run.folder)))
    words[words.index("AGAIN")] = str(tmp_path / "again")
    done = CliRunner().invoke(main, [*words[1:], "--workers", "0", "--quiet"])
    assert done.exit_code == 0, done.output
    again = api.open_run(tmp_path / "again")
    assert again.folder.header["settings"] == run.folder.header["settings"]
    np.testing.assert_array_equal(again.decision_function(X), run.decision_function(X))


@pytest.mark.parametrize(
    "how", [{"method": "ocas", "multiclass": "ovr"}, {"method": "dcd", "multi_class": JOINT}]
)
def test_linear_svms_are_trained_again(how: dict[str, Any], tmp_path: Path) -> None:
    api.ingest(load_iris(return_X_y=True), tmp_path / "d.zarr", scale="standard")
    run = train(tmp_path / "d.zarr", tmp_path / "run", kernel="linear", **how)
    reported = dict(zip(*tables(run.folder)["parameters"].values(), strict=True))
    assert {**reported, **how} == reported
    words = shlex.split(command(read_records(run.folder)))
    words[words.index("AGAIN")] = str(tmp_path / "again")
    done = CliRunner().invoke(main, [*words[1:], "--workers", "0", "--quiet"])
    assert done.exit_code == 0, done.output
    again = api.open_run(tmp_path / "again")
    assert again.folder.header["settings"] == run.folder.header["settings"]
