"""What cannot be used is refused in one sentence, with status 2, before anything is written."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from dcsvm_dask.data.ingest import ingest
from tests.command_line import invoke


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with data sets of two and of three classes, and a file."""
    home = tmp_path_factory.mktemp("home")
    source = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
    ingest(str(source), home / "d.zarr", label="lodgepole_pine", rows=(0, 200))
    ingest(str(source), home / "scaled.zarr", label="lodgepole_pine", rows=(0, 99), scale="minmax")
    X = np.random.default_rng(0).random((60, 54)).astype(np.float32)
    three = np.arange(60) % 3
    ingest((X, three), home / "three.zarr")
    ingest((X[:, :5], three == 0), home / "narrow.zarr")
    (home / "file").write_text("x")
    return home


def refused(done: Result, words: str) -> None:
    """Check for one clear sentence on standard error and status 2."""
    assert done.exit_code == 2, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    assert done.stderr.startswith("dcsvm: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert words in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-C 0", "C must be a positive number"),
        ("-C -1", "C must be a positive number, got -1.0"),
        ("-C nan", "C must be a positive number, got nan"),
        ("-C inf", "C must be a positive number, got inf"),
        ("--gamma 0", "gamma"),
        ("--gamma -2", "gamma"),
        ("--gamma nan", "gamma"),
        ("--gamma inf", "gamma"),
        ("--kernel poly --degree 0", "degree"),
        ("--kernel sigmoid --coef0 nan", "coef0"),
        ("--clusters 500", "clusters: 500 clusters for 200 distinct rows"),
        ("--levels 9", "clusters for 200 distinct rows"),
        ("--clusters 4,8", "clusters must be falling"),
        ("--clusters 4,4", "falling from the bottom level up"),
        ("--clusters 4,0", "at least 1 each"),
        ("--clusters four", "clusters must be numbers like 256,64,16, got 'four'"),
        ("--clusters 4;2", "clusters must be numbers like 256,64,16, got '4;2'"),
        ("--levels nonsense", "levels must be auto or a number, got 'nonsense'"),
        ("--levels 1.5", "levels must be auto or a number, got '1.5'"),
        ("--levels -1", "levels must be from 0 to 12"),
        ("--levels 13", "levels must be from 0 to 12, got 13"),
        ("--k 1", "k must be at least 2"),
        ("--tol 0", "tol must be a positive number, got 0.0"),
        ("--tol -1e-3", "tol must be a positive number, got -0.001"),
        ("--tol nan", "tol must be a positive number, got nan"),
        ("--stop-at -1", "stop-at must be a level, or 0 for the exact model, got -1"),
        ("--stop-at 1", "stop-at: there is no level 1: this run has 0 level(s)"),
        ("--clusters 8,2 --stop-at 3", "stop-at: there is no level 3: this run has 2 level(s)"),
        ("--block-cap 8", "block-cap must be at least 64, got 8"),
        ("--max-rounds 0", "max-rounds must be at least 1, got 0"),
        ("--n-samples-clustering 1", "n-samples-clustering must be at least 2, got 1"),
        ("--seed -1", "seed must be at least 0, got -1"),
        ("--workers -1", "workers must be 0 or more, got -1"),
        ("--workers 1 --scheduler tcp://a:1", "either workers or a scheduler's address"),
        ("--memory-limit 2GB --scheduler tcp://a:1", "memory-limit is for local workers"),
        ("--memory-limit lots", "memory-limit must be a size like 800MB or 2GiB, got 'lots'"),
        ("--memory-limit 0", "memory-limit must be a size like 800MB or 2GiB, got '0'"),
        ("--memory-limit -1GB", "memory-limit must be a size like 800MB or 2GiB, got '-1GB'"),
        ("--time-budget soon", "time-budget: 'soon' is no duration; write 90s, 10m or 1h30m"),
        ("--time-budget 0", "time-budget: '0' is no duration"),
        ("--time-budget -5m", "time-budget: '-5m' is no duration"),
        ("--time-budget 1.2.3s", "time-budget: '1.2.3s' is no duration"),
    ],
)
def test_impossible_parameters(options: str, words: str, home: Path, tmp_path: Path) -> None:
    place = tmp_path / "new" / "run"
    refused(invoke("train", home / "d.zarr", "--run", place, *options.split()), words)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "options",
    [
        "-C one",
        "--gamma much",
        "--kernel gaussian",
        "--workers two",
        "--unknown 1",
        "--fit-intercept=1",
    ],
)
def test_words_that_click_refuses(options: str, home: Path, tmp_path: Path) -> None:
    done = invoke("train", home / "d.zarr", "--run", tmp_path / "run", *options.split())
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "Error: " in done.stderr
    assert not (tmp_path / "run").exists()


def test_unknown_commands_and_missing_words() -> None:
    for words in (("trian",), ("train",), ("train", "d.zarr"), ("predict", "run", "data")):
        done = invoke(*words)
        assert done.exit_code == 2
        assert "Error: " in done.stderr


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ("absent.zarr", "", "check the path, or make one with dcsvm ingest"),
        ("file", "", "not a data set"),
        ("file/d.zarr", "", "no data set there"),
        ("d.zarr/test", "", "has no part 'test'"),
        ("three.zarr", "--method cascade", "or ingest the data with --positive LABEL"),
        ("d.zarr", "--holdout absent.zarr", "no data set there"),
        ("d.zarr", "--holdout narrow.zarr", "has features 5, the training data"),
        ("d.zarr", "--holdout three.zarr", "has classes"),
        ("d.zarr", "--holdout scaled.zarr", "was scaled otherwise than the training data"),
        ("d.zarr", "--holdout d.zarr", "has the training rows, so that scores are not those of"),
        ("d.zarr", "--class-weight a=2,a=3", "must be one weight a label, got two of 'a'"),
        ("unknown://d.zarr", "", "protocol 'unknown' is not opened"),
    ],
)
def test_data_that_cannot_be_used(
    data: str, options: str, words: str, home: Path, tmp_path: Path
) -> None:
    flags = [str(home / w) if w.endswith(".zarr") else w for w in options.split()]
    source = data if "://" in data else home / data
    refused(invoke("train", source, "--run", tmp_path / "run", "--workers", 0, *flags), words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--cv 0", "cv must be 2 folds or more"),
        ("--C=-2^0.5", "got '-2^0.5'"),
        ("--block-rows 3", "block-rows must be at least 64, got 3"),
        ("--n-samples-clustering 1", "n-samples-clustering must be at least 2, got 1"),
        ("--gamma 1 --kernel linear", "the linear kernel has no such parameter"),
    ],
)
def test_searches_that_cannot_be_made(options: str, words: str, home: Path, tmp_path: Path) -> None:
    flags = ["--run", tmp_path / "run", "--workers", 0, *options.split()]
    refused(invoke("search", home / "d.zarr", *flags), words)
    assert not (tmp_path / "run").exists()


def test_data_of_one_class(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    file.write_text("a,y\n1,yes\n2,yes\n3,yes\n")
    done = invoke("ingest", file, "--label", "y", "--out", tmp_path / "one.zarr")
    refused(done, "every row has the label 'yes'; a classifier needs two classes")
    assert [path.name for path in tmp_path.iterdir()] == ["one.csv"]


@pytest.mark.parametrize("place", ["file", "file/run"])
def test_places_where_no_run_can_be(place: str, home: Path) -> None:
    done = invoke("train", home / "d.zarr", "--run", home / place, "--workers", 0)
    refused(done, "nothing can be written there")
    assert (home / "file").read_text() == "x"


def test_a_folder_of_something_else_is_left_alone(home: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("important")
    done = invoke("train", home / "d.zarr", "--run", tmp_path, "--workers", 0)
    refused(done, "is neither empty nor a run; name another folder")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "words",
    [
        ("resume", "{0}"),
        ("status", "{0}"),
        ("predict", "{0}", "d.zarr", "--out", "out.csv"),
        ("evaluate", "{0}", "d.zarr"),
        ("export", "{0}", "--format", "libsvm", "out"),
    ],
    ids=lambda words: words[0],
)
def test_runs_that_are_none(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/run.json").write_text("{")
    for name, complaint in (
        ("absent", "there is no run"),
        ("empty", "there is no run"),
        ("bad", "not a JSON object"),
    ):
        refused(invoke(*(word.format(tmp_path / name) for word in words)), complaint)
    assert not (tmp_path / "absent").exists()
    assert not list((tmp_path / "empty").iterdir())


@pytest.mark.parametrize("workers", ["0", "2"])
def test_too_little_memory_is_refused_with_sizes_and_what_to_change(
    workers: str, home: Path, tmp_path: Path
) -> None:
    words = ["--memory-limit", "100MB", "--workers", workers]
    done = invoke("train", home / "d.zarr", "--run", tmp_path / "run", *words)
    refused(done, "raise --memory-limit (or give fewer --workers), or lower --block-cap")
    assert "a worker has 96 MiB" in done.stderr
    assert "215 MiB for the process" in done.stderr
    assert not (tmp_path / "run").exists()


def test_too_little_disk_is_refused_with_sizes(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nearly_full(path: Path) -> Any:
        assert path == tmp_path  # the folder is not made to be asked
        return shutil._ntuple_diskusage(1 << 30, (1 << 30) - 1000, 1000)  # type: ignore[attr-defined]

    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    done = invoke("train", home / "d.zarr", "--run", tmp_path / "a/run", "--workers", 0)
    refused(done, "of disk, but 1000 bytes are free there; free some, or give --run another place")
    assert not (tmp_path / "a").exists()
    # An object store has no such limit that could be asked for.
    stored = invoke("train", home / "d.zarr", "--run", "memory://full/run", "--workers", 0)
    assert stored.exit_code == 0, stored.output


def test_memory_places_need_this_process(home: Path) -> None:
    done = invoke("train", home / "d.zarr", "--run", "memory://m/run", "--workers", 1)
    refused(done, "only this process sees memory://; use workers=0 (--workers 0)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no such file; check the path"),
        ("[data", "is not TOML"),
        ("\xff", "is not TOML"),
        ("[data]\nsource = 'a'\n", "must have [data], [method], [output]"),
        ("{0}\n[more]\n", "must have [data], [method], [output]"),
        ("data = 1\nmethod = 2\noutput = 3\n", "data must be a table"),
        (
            "method = []\n[data]\nsource = 'a'\n[output]\nrun = 'r'\ndata = 'd'\n",
            "there is no method; give [method] a name",
        ),
        ("{0}colour = 'red'\n", "[output] colour is unknown; known: run, data"),
        ("{0}data = 3\n", "[output] data = 3 must be of type str"),
        ("{0}", "[output] data is missing"),
        ("{0}data = 'd'\n", "source.csv"),
    ],
)
def test_pipeline_files_that_cannot_be_used(text: str | None, words: str, tmp_path: Path) -> None:
    start = "[data]\nsource = 'source.csv'\n[method]\nname = 'dcsvm'\n[output]\nrun = 'r'\n"
    file = tmp_path / "p.toml"
    if text is not None:
        file.write_bytes(text.replace("{0}", start).encode("latin-1"))
    refused(invoke("run", file), words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("name = 'dcsvn'", "[method] name 'dcsvn' is unknown; known: dcsvm"),
        ("name = 'dcsvm'\nC = -1.0", "[method] C must be a positive number, got -1.0"),
        ("name = 'dcsvm'\nC = 'big'", "[method] C = 'big' must be of type float or int"),
        ("name = 'dcsvm'\nk = true", "[method] k = True must be of type int"),
        ("name = 'dcsvm'\nclusters = ['a']", "[method] clusters must be whole numbers, got ('a',)"),
        ("name = 'dcsvm'\nclusters = [2.5]", "[method] clusters must be whole numbers, got (2.5,)"),
        (
            "name = 'dcsvm'\nclusters = []",
            "[method] clusters must be numbers, bottom level first, got ()",
        ),
        ("name = 'dcsvm'\ngama = 1.0", "[method] gama is unknown"),
        ("gamma = 1.0", "[method] name is missing"),
    ],
)
def test_methods_that_cannot_be_used(line: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        f"[data]\nsource = 'source.csv'\n[method]\n{line}\n"
        f"[output]\nrun = '{tmp_path}/r'\ndata = '{tmp_path}/d'\n"
    )
    refused(invoke("run", file), words)
    assert [path.name for path in tmp_path.iterdir()] == ["p.toml"]


def test_a_picture_that_cannot_be_written(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = invoke("plan", home / "d.zarr", "--svg", tmp_path / "file/plan.svg")
    refused(done, "/file: ")
