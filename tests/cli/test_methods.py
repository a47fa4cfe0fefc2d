"""The methods of training by their names, from the command line and from pipeline files."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from dcsvm_dask import api
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.parameters import described
from dcsvm_dask.pipeline.file import read_pipeline
from tests.command_line import invoke

PIPELINE = """
[data]
source = "{0}"
[method]
name = "{1}"
gamma = 8.0
{2}
[output]
run = "run"
data = "data.zarr"
"""


@pytest.fixture(scope="module")
def data(demo_rows: Callable[..., Path]) -> Path:
    return demo_rows(400, test_fraction=0.25)


def test_methods_and_their_parameters_are_listed() -> None:
    listed = invoke("methods").output
    for name, method in METHODS.items():
        assert f"{name:<10} {method.about}" in listed
        shown = invoke("methods", name).output
        for field, about in described(method.options):
            default = about.default_text or str(field.default).lower()
            assert f"-P {field.name}={default}" in shown
            assert about.help in shown
            assert not about.has_range or about.wanted in shown
    assert invoke("methods", "svm").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("bagging", "-P", "members=3", "-P", "vote=sign", "-P", "replace=true"),
        ("cascade", "-P", "leaves=2", "-P", "passes=1"),
        ("cascade", "-P", "leaves=3", "-P", "arity = 3"),
        ("subsample", "-P", "fraction=0.5"),
        ("nystrom", "-P", "rank=20", "-P", "landmarks=random"),
        ("fourier", "-P", "outputs=40", "-P", "loss=squared_hinge"),
        ("fourier", "-P", "outputs=128", "-P", "structured=true"),
        ("greedy", "-P", "basis=20", "-P", "pool=10"),
        ("online", "-P", "passes=2"),
        ("bsgd", "-P", "budget=50", "-P", "epochs=3", "-P", "merge=lookup-h"),
        ("ltpu", "-P", "centres=20", "-P", "neighbours=2", "-P", "chunks=2"),
        ("libsvm", "--fit-intercept", "-P", "cache=10", "-P", "shrinking=false"),
        ("liblinear", "--kernel", "linear", "-P", "loss=squared_hinge", "-P", "dual=false"),
    ],
)
@pytest.mark.long
def test_every_method_trains_scores_resumes_and_predicts(
    words: tuple[str, ...], data: Path, tmp_path: Path
) -> None:
    run, test = tmp_path / "run", data / "test"
    how = ("--gamma", 8, "-C", 8, "--holdout", test, "--workers", 0, "--no-report")
    done = invoke("train", data, "--run", run, "--method", *words, *how)
    assert done.exit_code == 0, done.output
    assert "complete" in done.output
    assert "accuracy" in done.output
    scored = invoke("evaluate", run, test, "--workers", 0)
    assert scored.exit_code == 0, scored.output
    exact = words[:3] == ("cascade", "-P", "leaves=3")  # it goes on until no row violates
    assert f"mode               {'exact' if exact else words[0]}\n" in scored.output
    refused = invoke("evaluate", run, test, "--workers", 0, "--mode", "early")
    assert refused.exit_code == 2
    assert ("leave mode and level out" in refused.output) != exact
    again = invoke("resume", run, "--workers", 0)
    assert "complete already" in again.output
    shown = invoke("status", run)
    assert shown.exit_code == 0, shown.output
    report = invoke("report", run, "--out", tmp_path / "r.html")
    assert report.exit_code == 0, report.output
    page = (tmp_path / "r.html").read_text()
    assert f"{words[0]}, {'linear' if words[0] == 'liblinear' else 'rbf'} kernel" in page
    # Only what divides and conquers has a tree of levels.
    assert ("The tree" in page) == (words[0] == "subsample")
    exported = invoke("export", run, tmp_path / "model.txt", "--format", "libsvm")
    if words[0] != "fourier" and not {"vote=sign", "neighbours=2"} & set(words):
        assert exported.exit_code == 0, exported.output
    else:
        assert exported.exit_code == 2
        assert "cannot be exported" in exported.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "svm"), "method: 'svm' is unknown; known: dcsvm, decomposition, cascade"),
        (("--method", "bagging", "-P", "members"), "param must be KEY=VALUE, got 'members'"),
        (("--method", "bagging", "-P", "bags=3"), "bags: there is no such parameter of bagging"),
        (
            ("--method", "bagging", "-P", "members=many"),
            "members must be a whole number, got 'many'",
        ),
        (("-P", "members=3"), "members: there is no such parameter of dcsvm"),
        (("--method", "bagging", "--levels", "2"), "levels: there is no such parameter of bagging"),
    ],
)
def test_what_a_method_does_not_have_is_refused(
    words: tuple[str, ...], said: str, data: Path, tmp_path: Path
) -> None:
    done = invoke("train", data, "--run", tmp_path / "run", *words)
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "run").exists()


def test_pipeline_files_name_methods(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(PIPELINE.format("rows.csv", "bagging", 'members = 3\nvote = "sign"'))
    training = read_pipeline(file).training
    assert (training.method, training.gamma) == ("bagging", 8.0)
    assert training.words()["members"] == 3
    assert "levels" not in training.words()
    for wrong, said in (
        ('name = "bagging"\nleaves = 3', "[method] leaves is unknown; known: name, as, kernel"),
        ('name = "cascade"\nleaves = "3"', "[method] leaves = '3' must be of type int"),
        (
            'name = "cascade"\nleaves = 3',
            "[method] leaves must be a power of the arity 2, from 1 to 4096, got 3",
        ),
        ('name = "svm"', "[method] name 'svm' is unknown; known: dcsvm, decomposition, cascade"),
    ):
        text = PIPELINE.format("rows.csv", "x", "").replace('name = "x"', wrong)
        file.write_text(text)
        done = invoke("run", file)
        assert done.exit_code == 2
        assert said in done.output


def test_a_pipeline_holds_references_beside_the_others(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    source = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
    file.write_text(f"""
[data]
source = "{source}"
label = "lodgepole_pine"
scale = "minmax"
test_fraction = 0.25
train_rows = 300
[every]
gamma = 8.0
C = 8.0
fit_intercept = true
[[method]]
name = "dcsvm"
[[method]]
name = "libsvm"
cache = 50
[[method]]
name = "liblinear"
kernel = "linear"
[output]
run = "{tmp_path}/runs"
data = "{tmp_path}/d.zarr"
""")
    done = invoke("run", file, "--workers", 0, "--no-report")
    assert done.exit_code == 0, done.output
    found = {name: api.open_run(tmp_path / "runs" / name).status() for name in ("dcsvm", "libsvm")}
    assert found["libsvm"]["objective"] == pytest.approx(found["dcsvm"]["objective"], rel=1e-4)
    text = file.read_text().replace("fit_intercept = true", "")
    file.write_text(text)
    refused = invoke("run", file)
    assert refused.exit_code == 2
    assert "[method] fit-intercept: libsvm's SVM always has a bias" in refused.output
