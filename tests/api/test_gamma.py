"""gamma by a rule: the number that it becomes is that of the run, wherever the run is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.command_line import invoke

HOW: dict[str, Any] = {"execution": Execution(workers=0), "quiet": True, "report": False}


@pytest.fixture(scope="module")
def cancer(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    place = tmp_path_factory.mktemp("data") / "d.zarr"
    return api.ingest(load_breast_cancer(return_X_y=True), place, scale="minmax", chunk_rows=100)


def gamma_of(run: api.Run) -> float:
    return float(run.folder.header["settings"]["kernel"]["gamma"])


def of_scikit_learn(data: DataSet, rule: str) -> float:
    X = np.asarray(data.rows.read(0, data.n_rows), np.float64)
    return float(SVC(gamma=rule).fit(X, data.read_codes(0, data.n_rows))._gamma)


def test_the_default_is_the_rule_of_svc_on_the_rows_as_trained(
    cancer: DataSet, tmp_path: Path
) -> None:
    run = api.train(cancer.place, tmp_path / "run", **HOW)
    assert gamma_of(run) == pytest.approx(of_scikit_learn(cancer, "scale"), rel=1e-9)
    resumed = api.resume(tmp_path / "run", tol=1e-4, **HOW)
    assert gamma_of(resumed) == gamma_of(run)
    X = np.asarray(cancer.rows.read(0, cancer.n_rows), np.float64)
    svc = SVC(gamma="scale").fit(X, cancer.read_codes(0, cancer.n_rows))
    raw, _ = load_breast_cancer(return_X_y=True)
    assert np.mean(resumed.predict(raw) == svc.predict(X)) > 0.98  # it has a bias


def test_the_command_shows_the_number_and_repeats_with_it(cancer: DataSet, tmp_path: Path) -> None:
    words = ("--workers", 0, "--no-report")
    done = invoke("train", cancer.place, "--run", tmp_path / "run", "--gamma", "auto", *words)
    assert done.exit_code == 0, done.output
    assert f"gamma is {1 / 30:.6g} by the rule auto" in done.stderr
    assert gamma_of(api.open_run(tmp_path / "run")) == pytest.approx(1 / 30)
    again = invoke(
        "train", cancer.place, "--run", tmp_path / "run", "--gamma", "auto", "--or-resume", *words
    )
    assert again.exit_code == 0, again.output
    planned = invoke("plan", cancer.place)
    assert "by the rule scale" in planned.stdout


def test_a_pipeline_may_have_a_rule_and_a_grid_of_rules(cancer: DataSet, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        f'[data]\nsource = {json.dumps(str(cancer.place))}\n[method]\nname = "dcsvm"\n'
        f'gamma = ["scale", 0.5]\n[output]\nrun = {json.dumps(str(tmp_path / "runs"))}\n'
        f"data = {json.dumps(str(tmp_path / 'copy.zarr'))}\n"
    )
    first, second = api.run_pipeline(file, **HOW)
    assert gamma_of(first) == pytest.approx(of_scikit_learn(cancer, "scale"), rel=1e-9)
    assert gamma_of(second) == 0.5
    assert api.run_pipeline(file, **HOW)[0].url == first.url


def test_a_search_takes_rules_among_numbers(cancer: DataSet, tmp_path: Path) -> None:
    run = api.search(
        cancer.place, tmp_path / "grid", C=1.0, gamma=["scale", 0.25], refit=False, **HOW
    )
    found = sorted(row["gamma"] for row in run.results())
    wanted = sorted([of_scikit_learn(cancer, "scale"), 0.25])
    assert found == pytest.approx(wanted, rel=1e-9)


def test_a_kernel_without_gamma_reads_no_rows(
    cancer: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcsvm_dask.pipeline import training

    def fails(data: DataSet) -> float:
        raise AssertionError(data.url)

    monkeypatch.setattr(training, "variance_of", fails)
    run = api.train(cancer.place, tmp_path / "run", kernel="linear", method="dcsvm", **HOW)
    assert gamma_of(run) == 1.0


@pytest.mark.parametrize("gamma", ["scal", 0.0, -1, None])
def test_other_values_are_refused(cancer: DataSet, tmp_path: Path, gamma: Any) -> None:
    with pytest.raises(InputError, match="gamma is"):
        api.train(cancer.place, tmp_path / "run", gamma=gamma, **HOW)
    assert not (tmp_path / "run").exists()
