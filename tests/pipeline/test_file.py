"""Pipeline files: what they say, and where their paths lead."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.file import read_pipeline
from dcsvm_dask.runtime.session import Execution

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


def test_the_pipelines_of_the_repository_can_be_read() -> None:
    for path in (REPOSITORY / "pipelines").glob("*.toml"):
        assert read_pipeline(path).run


def test_the_demo_s_pipeline_and_its_data_are_in_the_package() -> None:
    with resources.as_file(resources.files("dcsvm_dask.demo")) as folder:
        found = read_pipeline(folder / "covtype.toml")
        assert Path(found.data["source"]).is_file()


def test_a_pipeline_runs_once_and_then_has_nothing_to_do(file: Path) -> None:
    run = api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    found = run.status()
    assert (found["state"], found["converged"]) == ("complete", True)
    assert any(stage.startswith("score-model") for stage in found["stages"])
    again = api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    assert again.status()["stages"] == found["stages"]


def test_another_goal_goes_on_and_other_parameters_are_refused(file: Path) -> None:
    text = file.read_text()
    file.write_text(text.replace("C = 4", "C = 4\nstop_at = 1"))
    run = api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    assert run.status()["model"] == "level-1"
    file.write_text(text)
    run = api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    assert run.status()["model"].startswith("model-")
    file.write_text(text.replace("C = 4", "C = 5"))
    with pytest.raises(InputError, match=r"was begun with other parameters than .*p.toml has now"):
        api.run_pipeline(file, execution=IN_PROCESS, quiet=True)
    assert run.status()["state"] == "complete"
