"""Pipeline files: what they say, and where their paths lead."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.budget.options import Budgeted
from dcsvm_dask.pipeline.file import read_pipeline
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.solvers import MergeTables
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.merge_tables import as_bytes
from tests.marks import long, soak
from tests.strategies import ODD_BYTES, check_message, damaged, fuzz, inputs, noise

IN_PROCESS = Execution(workers=0)
REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = """
[data]
source = "rows.csv"
label = "y"
scale = "standard"
test_fraction = 0.25
[method]
name = "dcsvm"
C = 4
gamma = 2.0
clusters = [3]
[output]
run = "{0}/run"
data = "{0}/data.zarr"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a pipeline of 80 rows."""
    lines = ["a,b,y", *(f"{i % 7},{i % 11},{'in' if i % 7 > i % 11 else 'out'}" for i in range(80))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    file = tmp_path / "p.toml"
    file.write_text(TEXT.format(tmp_path))
    return file


def test_what_a_file_says(file: Path) -> None:
    found = read_pipeline(file)
    assert found.data == {
        "source": str(file.parent / "rows.csv"),
        "label": "y",
        "scale": "standard",
        "test_fraction": 0.25,
    }
    assert (found.training.C, found.training.clusters) == (4, (3,))
    assert found.training.fit_intercept is False
    assert found.run == f"{file.parent}/run"


def test_a_list_of_lists_is_a_grid_where_a_list_is_one_value(file: Path) -> None:
    text = file.read_text()
    file.write_text(text.replace("clusters = [3]", "quantile = [0.1, 0.5]\nlevels = [1, 2]"))
    found = read_pipeline(file).trainings
    assert [(one.name, one.training.quantile) for one in found] == [
        ("dcsvm-levels=1", (0.1, 0.5)),
        ("dcsvm-levels=2", (0.1, 0.5)),
    ]
    file.write_text(text.replace("clusters = [3]", "quantile = [[0.1, 0.5], [0.9]]"))
    found = read_pipeline(file).trainings
    assert [(one.name, one.training.quantile) for one in found] == [
        ("dcsvm-quantile=0.1_0.5", (0.1, 0.5)),
        ("dcsvm-quantile=0.9", (0.9,)),
    ]
    file.write_text(text.replace("clusters = [3]", "quantile = [[0.1], 0.5]"))
    with pytest.raises(InputError, match=r"p.toml:11: \[method\] quantile must be"):
        read_pipeline(file)


def test_what_every_says_and_a_method_has_not_is_refused_with_its_name(file: Path) -> None:
    text = file.read_text().replace("[method]", '[every]\nloss = "hinge"\n[[method]]')
    text = text.replace("[output]", '[[method]]\nname = "greedy"\n[output]')
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_pipeline(file)
    assert "p.toml:8: [every] loss: greedy has no hinge" in str(refused.value)
    assert "method greedy, whose own table may have another loss" in str(refused.value)
    own = 'name = "greedy"\nloss = "squared_hinge"'
    file.write_text(text.replace('name = "greedy"', own))
    found = read_pipeline(file).trainings
    assert [one.training.loss for one in found] == ["hinge", "squared_hinge"]


def test_a_method_that_does_not_learn_the_task_is_refused_before_data_are_read(file: Path) -> None:
    text = file.read_text().replace("[method]", 'task = "one-class"\n[method]')
    text = text.replace("C = 4\n", "").replace("clusters = [3]", "nu = 0.1")
    file.write_text(text)
    assert read_pipeline(file).training.nu == 0.1
    file.write_text(text.replace('name = "dcsvm"', 'name = "nystrom"').replace("nu = 0.1", ""))
    with pytest.raises(InputError, match=r"p.toml:9: \[method\] method nystrom is not for one-"):
        read_pipeline(file)
    file.write_text(text.replace("nu = 0.1", "epsilon = 0.1"))
    with pytest.raises(InputError, match=r"p.toml:11: \[method\] epsilon: is a parameter of task"):
        read_pipeline(file)


def test_weights_lie_beside_the_file_and_go_into_the_data(file: Path) -> None:
    (file.parent / "w.txt").write_text("".join(f"{i % 3}\n" for i in range(80)))
    file.write_text(file.read_text().replace("[method]", 'weights = "w.txt"\n[method]'))
    assert read_pipeline(file).data["weights"] == str(file.parent / "w.txt")
    api.run_pipeline(file, execution=IN_PROCESS, quiet=True, report=False)
    data = DataSet.open(file.parent / "data.zarr")
    assert data.n_rows + data.open_part("test").n_rows == 53
    assert data.weights is not None
    assert (data.weights["least"], data.weights["most"]) == (1.0, 2.0)


def test_text_in_an_encoding_and_a_column_that_is_left_out(file: Path) -> None:
    text = (file.parent / "rows.csv").read_text().replace("in\n", "drinnen\n")
    (file.parent / "rows.csv").write_bytes(text.replace("out", "draußen").encode("cp1252"))
    words = 'encoding = "cp1252"\ndrop = ["b"]\n[method]'
    file.write_text(file.read_text().replace("[method]", words))
    (run,) = api.run_pipeline(file, execution=IN_PROCESS, quiet=True, report=False)
    data = DataSet.open(file.parent / "data.zarr")
    assert data.classes == ["drau\u00dfen", "drinnen"]
    assert data.feature_names == ["a"]
    # What comes later is read so, too, unless it is said to be written otherwise.
    first = run.evaluate(file.parent / "rows.csv", execution=IN_PROCESS)
    (file.parent / "rows.csv").write_bytes(text.replace("out", "draußen").encode("utf-8"))
    with pytest.raises(InputError, match="seems to be utf-8, but the training data are cp1252"):
        run.evaluate(file.parent / "rows.csv", execution=IN_PROCESS)
    how: Any = {"execution": IN_PROCESS, "encoding": "utf-8"}
    assert run.evaluate(file.parent / "rows.csv", **how)["confusion"] == first["confusion"]
    assert (run.predict(file.parent / "rows.csv", **how) != "").all()
    file.write_text(file.read_text().replace("cp1252", "latin-1"))
    with pytest.raises(InputError, match="was made with another value of encoding"):
        api.run_pipeline(file, execution=IN_PROCESS, quiet=True, report=False)


def test_the_pipelines_of_the_repository_can_be_read() -> None:
    for path in (REPOSITORY / "pipelines").glob("*.toml"):
        assert read_pipeline(path).run


def test_files_are_found_from_the_folder_of_the_pipeline(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,2,a\n3,4,b\n")
    (tmp_path / "tables.npz").write_bytes(as_bytes(MergeTables.of(20)))
    path = tmp_path / "bsgd.toml"
    path.write_text(
        '[data]\nsource = "rows.csv"\n[method]\nname = "bsgd"\ntables = "tables.npz"\n'
        '[output]\nrun = "run"\ndata = "data.zarr"\n'
    )
    found = read_pipeline(path)
    assert found.data["source"] == str(tmp_path / "rows.csv")
    options = found.training.options
    assert isinstance(options, Budgeted)
    assert options.tables == str(tmp_path / "tables.npz")


def test_the_demo_s_pipeline_and_its_data_are_in_the_package() -> None:
    with resources.as_file(resources.files("dcsvm_dask.demo")) as folder:
        found = read_pipeline(folder / "covtype.toml")
        assert Path(found.data["source"]).is_file()


def test_a_pipeline_runs_once_and_then_has_nothing_to_do(file: Path) -> None:
    [run] = api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    found = run.status()
    assert (found["state"], found["converged"]) == ("complete", True)
    assert any(stage.startswith("score-model") for stage in found["stages"])
    [again] = api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    assert again.status()["stages"] == found["stages"]


def test_another_goal_goes_on_and_other_parameters_are_refused(file: Path) -> None:
    text = file.read_text()
    file.write_text(text.replace("C = 4", "C = 4\nstop_at = 1"))
    [run] = api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    assert run.status()["model"] == "level-1"
    file.write_text(text)
    [run] = api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    assert run.status()["model"].startswith("model-")
    file.write_text(text.replace("C = 4", "C = 5"))
    with pytest.raises(
        InputError,
        match=r"was begun with other parameters than .*p.toml has now \(C 4.0, now 5.0\)",
    ):
        api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    assert run.status()["state"] == "complete"


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("[method]", 'weights = "w.txt"\n[method]', "weights"),
        ("rows.csv", "other.csv", "source"),
        long('scale = "standard"', 'scale = "minmax"', "scale"),
        long("test_fraction = 0.25", "test_fraction = 0.5", "test_fraction"),
        long("[method]", "seed = 1\n[method]", "seed"),
        long("[method]", 'positive = ["in"]\n[method]', "positive"),
    ],
)
def test_data_that_were_made_otherwise_are_refused(
    old: str, new: str, word: str, file: Path
) -> None:
    text = file.read_text()
    api.run_pipeline(file, execution=IN_PROCESS, quiet=True, report=False)
    (file.parent / "w.txt").write_text("1\n2\n" * 40)
    file.write_text(text.replace(old, new))
    with pytest.raises(
        InputError, match=f"data.zarr: was made with another value of {word} than .*p.toml"
    ):
        api.run_pipeline(file, execution=IN_PROCESS, quiet=True, report=False)


def test_weights_are_compared_by_their_values(file: Path) -> None:
    weights, how = file.parent / "w.txt", {"execution": IN_PROCESS, "quiet": True, "report": False}
    weights.write_text("1\n2\n" * 40)
    file.write_text(file.read_text().replace("[method]", 'weights = "w.txt"\n[method]'))
    [run] = api.run_pipeline(file, **how)  # type: ignore[arg-type]
    weights.write_text("1.0\n2.0\n" * 40)
    [again] = api.run_pipeline(file, **how)  # type: ignore[arg-type]
    assert again.status()["stages"] == run.status()["stages"]
    weights.write_text("1\n3\n" * 40)
    with pytest.raises(InputError, match="was made with another value of weights"):
        api.run_pipeline(file, **how)  # type: ignore[arg-type]


SHIPPED = sorted((REPOSITORY / "pipelines").glob("*.toml"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda path: path.stem)
def test_the_pipelines_that_come_along_can_be_read(file: Path) -> None:
    kernel = "poly" if file.stem == "covtype-poly" else "rbf"
    trainings = read_pipeline(file).trainings
    assert {planned.training.kernel for planned in trainings} == {kernel}
    assert len({planned.run for planned in trainings}) == len(trainings)


SMALL = {
    "dcsvm": "levels=1",
    "nystrom": "rank=40",
    "fourier": "outputs=64",
    "ltpu": "centres=40",
    "greedy": "basis=20",
}
"""What is smaller than the paper's, for few rows."""


FEWER = {
    "grid": ["every.C=[2.0]"],
    "support-vectors": ["dcsvm.clusters=[16, 4]"],
    "bagging-compare": ["bagging.members=[4, 16]"],
    "prediction-modes": ["bagging.members=8", "cascade.leaves=8"],
}
"""What of a pipeline is less than in its file."""


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for the data sets that several pipelines share."""
    return tmp_path_factory.mktemp("sets")


SAME = ("mnist-compare", "census-compare", "kddcup99-compare", "covtype-compare")
"""Which compare the same methods as `a9a-compare` and `ijcnn1-compare`, on larger rows."""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:the model hardly ever predicts")  # from so few rows
@pytest.mark.parametrize(
    "file",
    [(soak if path.stem in SAME else pytest.param)(path, id=path.stem) for path in SHIPPED],
)
def test_the_pipelines_that_come_along_run_on_few_rows(
    file: Path, shared_data: Callable[[str], Any], tmp_path: Path, sets: Path
) -> None:
    content = tomllib.loads(file.read_text())
    source = Path(content["data"]["source"]).stem
    shared_data(source)
    methods = content["method"] if isinstance(content["method"], list) else [content["method"]]
    names = {
        method.get("as", method["name"]): method["name"]
        for method in methods
        if "clusters" not in method
    }
    changes = [
        "data.train_rows=1500",
        f"output.run={tmp_path / 'runs'}",
        f"output.data={sets / content['output']['data']}",
        *(f"{called}.{SMALL[name]}" for called, name in names.items() if name in SMALL),
    ]
    changes += FEWER.get(file.stem, [])
    whole = "test_fraction" not in content["data"]
    changes.append("data.shuffle=true" if whole else "data.test_fraction=0.01")
    runs = api.run_pipeline(file, changes=changes, execution=IN_PROCESS, quiet=True, report=False)
    for run in runs:
        status = run.status()
        assert status["state"] == "complete"
        assert status["stages"][f"score-{status['model']}"]["accuracy"] > 0.5


@pytest.mark.long
def test_a_pipeline_that_comes_along_runs(
    shared_data: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_data("ijcnn1")
    monkeypatch.chdir(tmp_path)
    [run] = api.run_pipeline(
        REPOSITORY / "pipelines" / "ijcnn1.toml", execution=IN_PROCESS, quiet=True
    )
    assert run.status()["objective"] == pytest.approx(-33155.11, rel=1e-6)
    assert run.history()[-1]["accuracy"] > 0.98


REAL = (resources.files("dcsvm_dask.demo") / "covtype.toml").read_bytes()

FULL = b"""[data]
source = "a.csv"
test = "b.csv"
label = -1
scale = "minmax"
positive = [1, "a"]
[method]
name = "dcsvm"
kernel = "poly"
gamma = 2.0
degree = 3
coef0 = 1
C = 8
clusters = [16, 4]
tol = 1e-3
seed = 7
[output]
run = "r"
data = "d"
"""

VALUES = (
    *("nan", "inf", "-inf", "-1", "0", "1e400", "1e308", "9" * 400, "-" + "9" * 30, "9" * 5000),
    *("true", "[]", "{}", "[[[1]]]", "[nan]", "[{}]", "''", "'auto'", "2020-01-01", "0x10", "1_0"),
    *("[" * 3000, "{a=" * 3000, '"\\u0000"', '"""', "'é'"),
)


@inputs(300)
def test_pipeline_files(count: int, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"

    def check(content: bytes) -> None:
        path.write_bytes(content)
        try:
            found = read_pipeline(path)
        except InputError as error:
            check_message(error, str(path))
            return
        training = found.training
        assert 0 < training.C < math.inf
        assert 0 < training.gamma < math.inf
        assert 0 < training.tol < math.inf
        assert isinstance(found.data["source"], str)
        assert all(isinstance(word, str | int | float) for word in found.data.get("positive", ()))

    lines = FULL.splitlines()
    replaced = st.tuples(st.integers(0, len(lines) - 1), st.sampled_from(VALUES)).map(
        lambda change: b"\n".join(
            line.split(b"=")[0] + b"= " + change[1].encode() if k == change[0] else line
            for k, line in enumerate(lines)
        )
    )
    odd = [*ODD_BYTES, *(value.encode() for value in VALUES)]
    files = st.one_of(replaced, replaced, damaged(FULL, odd), damaged(REAL, odd), noise(odd))
    known = [
        FULL.replace(b"C = 8", b"C = " + b"9" * 400),
        FULL.replace(b"gamma = 2.0", b"gamma = " + b"9" * 400),
        FULL.replace(b"seed = 7", b"seed = " + b"9" * 5000),
        FULL.replace(b"[16, 4]", b"[" * 3000),
        FULL.replace(b'[1, "a"]', b"[{}]"),
    ]
    fuzz(check, files, count, known)
