"""What scripts rely on: exit statuses, JSON alone on standard output, silence when asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask.cli import COMMANDS
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import RunError
from dcsvm_dask.runtime import tasks
from dcsvm_dask.runtime.cluster import connect as clusters
from dcsvm_dask.storage.claims import read_owner
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.command_line import invoke
from tests.left import latest

TRAIN = ["--gamma", "1", "-C", "8", "--clusters", "4", "--workers", "0"]
STATUS_KEYS = {
    "state",
    "converged",
    "level",
    "objective",
    "gap",
    "violation",
    "n_support",
    "kernel_values",
    "ns_per_kernel_value",
    "seconds",
    "peak_bytes",
    "tasks",
}
PIPELINE = """
[data]
source = "rows.csv"
label = "lodgepole_pine"
scale = "minmax"
test_fraction = 0.25
[method]
name = "dcsvm"
gamma = 8.0
C = 8.0
clusters = [3]
[output]
run = "{0}/piped-run"
data = "{0}/piped.zarr"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a data set, a complete run and an early one."""
    home = tmp_path_factory.mktemp("home")
    source = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
    ingest(
        str(source),
        home / "d.zarr",
        label="lodgepole_pine",
        scale="minmax",
        test_fraction=0.25,
        rows=(0, 480),
    )
    for name, more in (("run", []), ("early", ["--stop-at", "1"])):
        words = ["train", home / "d.zarr", "--run", home / name, "--quiet", *TRAIN, *more]
        done = invoke(*words)
        assert (done.exit_code, done.output) == (0, "")
    return home


def test_help_names_every_command_and_imports_none() -> None:
    code = (
        "import sys\n"
        "from dcsvm_dask.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "slow = {'numpy', 'dask', 'distributed', 'numba', 'zarr', 'scipy', 'rich'}\n"
        "slow &= set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    for name, line in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert line in done.stdout


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_and_quiet(name: str) -> None:
    done = invoke(name, "--help")
    assert done.exit_code == 0
    prints = name in {"info", "plan", "status", "evaluate", "compress", "cluster", "methods"}
    kept = "results" if prints else "warnings"  # of the others the result is a file or a folder
    assert f"Print {kept} and errors only." in " ".join(done.stdout.split())
    assert done.stderr == ""


def test_the_version_is_shown() -> None:
    done = invoke("--version")
    assert done.exit_code == 0
    assert done.stdout.strip().endswith("0.1.0")


def test_status_as_json_is_one_object_alone(home: Path) -> None:
    done = invoke("status", home / "run", "--json")
    assert done.exit_code == 0
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found.keys() >= STATUS_KEYS
    assert (found["state"], found["converged"], found["level"]) == ("complete", True, 0)
    assert found["violation"] <= 1e-3
    assert found["objective"] < 0
    assert found["gap"] >= 0
    assert 0 < found["n_support"] <= 360
    assert found["kernel_values"] > 0
    assert found["ns_per_kernel_value"] > 0
    phases = {"probe", "arrange", "level-1", "refine", "conquer", "model"}
    assert found["seconds"].keys() == phases
    assert all(value > 1 << 20 for value in found["peak_bytes"].values())
    nodes = [n for by_host in found["tasks"].values() for n in by_host.values()]
    run = RunFolder.open(home / "run")
    assert sum(nodes) == sum(len(run.nodes(stage)) for stage in run.stages())


def test_info_counts_the_files_of_a_run(home: Path) -> None:
    files = [path for path in (home / "run").rglob("*") if path.is_file()]
    found = json.loads(invoke("info", home / "run", "--json").stdout)
    assert found["files"] == len(files)
    assert found["bytes"] == sum(path.stat().st_size for path in files)
    assert found["stages"] == len(RunFolder.open(home / "run").stages())
    assert (found["method"], found["state"]) == ("dcsvm", "complete")
    shown = invoke("info", home / "run").stdout
    assert f"\n  {len(files)} files, " in shown
    assert f"a run of dcsvm on {home / 'd.zarr'}/train" in shown


def test_info_of_a_damaged_run_says_so(home: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    done = invoke("info", tmp_path)
    assert done.exit_code == 2
    assert "run.json: damaged" in done.stderr


def test_status_of_an_early_model(home: Path) -> None:
    found = json.loads(invoke("status", home / "early", "--json").stdout)
    assert (found["state"], found["converged"], found["level"]) == ("complete", False, 1)
    assert found["model"] == "level-1"
    assert found["objective"] < 0
    assert "NOT converged" not in invoke("status", home / "early").stdout


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("plan", "d.zarr", "--clusters", "8,2", "--json"), "stages"),
        (("info", "d.zarr", "--json"), "parts"),
        (("info", "run", "--json"), "files"),
        (("evaluate", "run", "d.zarr/test", "--json", "--quiet"), "accuracy"),
    ],
)
def test_json_is_one_object_alone(words: tuple[str, ...], key: str, home: Path) -> None:
    words = tuple(str(home / w) if w.startswith(("d.zarr", "run")) else w for w in words)
    done = invoke(*words)
    assert done.exit_code == 0
    assert done.stderr == ""
    assert key in json.loads(done.stdout)


def test_progress_is_on_standard_error_and_the_summary_on_standard_output(
    home: Path, tmp_path: Path
) -> None:
    done = invoke("train", home / "d.zarr", "--run", tmp_path / "run", *TRAIN)
    assert done.exit_code == 0
    stages = [line.split()[2] for line in done.stderr.splitlines()]
    assert stages.index("refine-000") < stages.index("conquer-000")
    assert "state      complete, converged" in done.stdout
    assert "refine-000" not in done.stdout
    again = invoke("resume", tmp_path / "run", "--workers", 0)
    assert again.exit_code == 0
    assert "state      complete, converged" in again.stdout
    assert "is complete already: nothing to do" in again.stderr


def test_quiet_commands_print_results_and_nothing_else(home: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(_some_csv_rows(300))
    (tmp_path / "p.toml").write_text(PIPELINE.format(tmp_path))
    place, data = tmp_path / "run", tmp_path / "rows.zarr"
    silent = (
        ("ingest", tmp_path / "rows.csv", "--label", "lodgepole_pine", "--out", data),
        ("train", home / "d.zarr", "--run", place, "--stop-at", 1, *TRAIN),
        ("resume", place, "--stop-at", 0, "--workers", 0),
        ("resume", place, "--workers", 0),
        ("run", tmp_path / "p.toml", "--workers", 0),
        ("run", tmp_path / "p.toml", "--workers", 0),
        ("predict", place, home / "d.zarr/test", "--out", tmp_path / "out.csv", "--workers", 0),
        ("export", place, "--format", "libsvm", tmp_path / "model"),
    )
    for words in silent:
        done = invoke(*words, "--quiet")
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", ""), words
    progress = (
        ("info", data),
        ("info", place),
        ("plan", home / "d.zarr"),
        ("status", place),
        ("evaluate", place, home / "d.zarr/test", "--workers", 0),
    )
    for words in progress:
        done = invoke(*words, "--quiet")
        assert (done.exit_code, done.stderr) == (0, ""), words
        assert done.stdout != "", words


def test_status_3_where_the_rounds_end_without_convergence(home: Path, tmp_path: Path) -> None:
    words = ["--tol", "1e-7", "--max-rounds", "1"]
    done = invoke("train", home / "d.zarr", "--run", tmp_path / "run", *TRAIN, *words)
    assert done.exit_code == 3
    assert "complete, NOT converged" in done.stdout
    assert invoke("resume", tmp_path / "run", "--workers", 0, "--quiet").exit_code == 3
    # Back at the level's model, which is whole, nothing is wrong.
    back = invoke("resume", tmp_path / "run", "--workers", 0, "--stop-at", 1, "--quiet")
    assert back.exit_code == 0


FAILED, KEPT = "dcsvm: {0}: stage probe: commit failed", "what was committed stays"
GO_ON = ", then continue with `dcsvm resume {0}`"
MEMORY = "give workers more memory, or start fewer of them by --workers"


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (RunError("a worker was lost"), 1, "dcsvm: a worker was lost"),
        (ValueError("odd"), 1, f"{FAILED}: ValueError: odd; {KEPT}: remove the cause{GO_ON}"),
        (MemoryError("too much"), 1, f"{FAILED}: MemoryError: too much; {KEPT}: {MEMORY}{GO_ON}"),
        (KeyboardInterrupt(), 130, "dcsvm: {0}: interrupted; continue with `dcsvm resume {0}`"),
    ],
    ids=["run error", "bug", "memory", "ctrl-c"],
)
def test_failures_are_one_line_and_a_status(
    error: BaseException,
    status: int,
    sentence: str,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(tasks, "run_node", fail)
    place = tmp_path / "run"
    done = invoke("train", home / "d.zarr", "--run", place, "--quiet", *TRAIN)
    assert done.exit_code == status
    assert done.stdout == ""
    assert done.stderr == sentence.format(place) + "\n"
    left = latest(place, "state").read_json()
    assert left["state"] == ("interrupted" if status == 130 else "failed")
    assert read_owner(Location.of(place)) is None


def test_the_parameters_are_committed_before_a_cluster_is_started(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    @contextmanager
    def no_cluster(*_: object) -> Iterator[None]:
        seen.append(json.loads((tmp_path / "run/run.json").read_text()))
        raise RunError("no cluster today")
        yield

    monkeypatch.setattr(clusters, "local_cluster", no_cluster)
    words = ["--gamma", "8", "-C", "3", "--workers", "2", "--quiet"]
    done = invoke("train", home / "d.zarr", "--run", tmp_path / "run", *words)
    assert (done.exit_code, done.stderr) == (1, "dcsvm: no cluster today\n")
    assert seen[0]["settings"]["C"] == 3.0


@pytest.mark.long
def test_a_scheduler_that_does_not_answer_is_one_sentence(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:1", "127.0.0.1:1", "nowhere.invalid:8786", "what?"):
        place = tmp_path / f"run{len(address)}"
        words = ["--scheduler", address, "--quiet"]
        done = invoke("train", home / "d.zarr", "--run", place, *words)
        assert done.exit_code == 2, (address, done.output)
        assert done.stdout == ""
        assert done.stderr.startswith(f"dcsvm: no Dask scheduler answers at {address}")
        assert done.stderr.count("\n") == 1
        assert not place.exists()


def test_the_time_budget_ends_with_status_0_and_says_what_there_is(
    home: Path, tmp_path: Path
) -> None:
    words = ["--time-budget", "0.000001s"]
    done = invoke("train", home / "d.zarr", "--run", tmp_path / "run", *TRAIN, *words)
    assert done.exit_code == 0
    assert "interrupted (the time budget was used up; no level is committed yet)" in done.stdout
    assert invoke("resume", tmp_path / "run", "--workers", 0, "--quiet").exit_code == 0


def _some_csv_rows(n: int) -> str:
    import lzma

    source = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
    with resources.as_file(source) as path, lzma.open(path, "rt") as file:
        return "".join(line for line, _ in zip(file, range(n + 1), strict=False))
