"""What a cluster file may say, and that whatever else it says is one line."""

from __future__ import annotations

import importlib
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dcsvm_dask.cli import main
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime import preload
from dcsvm_dask.runtime.cluster import kinds as cluster_kinds
from dcsvm_dask.runtime.cluster.file import dotted, read_cluster
from dcsvm_dask.runtime.execution import Execution

GOOD = "kind: slurm\nworkers: 2\nmemory: 1GiB\n"


@pytest.fixture
def write(tmp_path: Path):
    """Return a writer of files called x.yaml."""

    def call(text: str) -> str:
        file = tmp_path / "x.yaml"
        file.write_text(text)
        return str(file)

    return call


def test_a_file_says_how_many_workers_of_what_size(write) -> None:
    found = read_cluster(
        write(
            "kind: pbs\nadapt: {minimum: 2, maximum: 8}\nmemory: 500MB\nworkers_per_job: 2\n"
            "environment: {A: 1, B: x y}\n"
            "dask: {distributed: {scheduler: {worker-ttl: 60s}}, temporary-directory: /t}\n"
        )
    )
    assert (found.least, found.adapt, found.memory, found.together) == (2, (2, 8), 500_000_000, 2)
    assert found.environment == {"A": "1", "B": "x y"}
    assert found.dask == {"distributed.scheduler.worker-ttl": "60s", "temporary-directory": "/t"}


def test_a_cluster_may_have_no_worker_where_there_is_no_task(write) -> None:
    text = "kind: slurm\nmemory: 1GB\nworkers_per_job: 2\nadapt: {minimum: 0, maximum: 4}\n"
    found = read_cluster(write(text))
    assert (found.adapt, found.least) == ((0, 4), 2)  # a first job shows whether the queue takes it


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a cluster file; begin it with `kind:"),
        ("- kind", "is not a cluster file"),
        ("kind: [", ":1: is not YAML: "),
        ("\tkind: x", ":1: is not YAML: "),
        ("kind: my.Class\n", ":1: kind: must be one of local, ssh, slurm"),
        ("memory: 1GiB\n", ":1: kind: must be one of"),
        (GOOD + "wrokers: 3\n", ":4: wrokers: is not a key of kind slurm; use kind, memory"),
        (GOOD + "workers: 3\n", ":4: workers: is also in line 2"),
        ("kind: local\nhosts: [a, b]\n", ":2: hosts: is not a key of kind local"),
        ("kind: local\nworkers: 0\n", ":2: workers: must be a whole number of at least 1, got 0"),
        (
            "kind: local\nworkers: yes\n",
            ":2: workers: must be a whole number of at least 1, got True",
        ),
        ("kind: local\nmemory: 4\n", ":2: memory: must be a size like 800MB or 4GiB, got 4"),
        (
            "kind: local\nmemory: 4 Gibt\n",
            ":2: memory: must be a size like 800MB or 4GiB, got '4 Gibt'",
        ),
        ("kind: slurm\nworkers: 2\n", ":1: kind: slurm needs memory"),
        ("kind: slurm\nmemory: 1GiB\n", ":1: kind: slurm needs either workers or adapt"),
        (GOOD + "adapt: {minimum: 1, maximum: 2}\n", "needs either workers or adapt"),
        (
            GOOD + "workers_per_job: 3\n",
            ":2: workers: must be a multiple of workers_per_job, 3, got 2",
        ),
        (
            "kind: lsf\nmemory: 1GB\nadapt: {minimum: -1, maximum: 1}\n",
            ":3: adapt.minimum: must be",
        ),
        ("kind: lsf\nmemory: 1GB\nadapt: {minimum: 3, maximum: 1}\n", "3 is more than maximum 1"),
        ("kind: lsf\nmemory: 1GB\nadapt: 3\n", ":3: adapt: must be names with values, got 3"),
        ("kind: ssh\nmemory: 1GB\nhosts: [a]\n", ":3: hosts: give a list: the scheduler's host"),
        (
            GOOD + "options: {cores: 4}\n",
            ":4: options.cores: is given by the file's workers_per_job",
        ),
        (
            GOOD + "options: {job_cls: os.system}\n",
            ":4: options.job_cls: cannot be set in a cluster file",
        ),
        (
            GOOD + "environment: {A: off}\n",
            ":4: environment.A: must be text, got False; put it in quotes",
        ),
        (GOOD + "environment: {a-b: 1}\n", ":4: environment.a-b: is not a valid name"),
        (GOOD + "dask: {distributed.wroker: 1}\n", "distributed.wroker is not a setting of Dask's"),
        (GOOD + "options: {qeue: a}\n", "options: got an unexpected keyword argument 'qeue'"),
    ],
)
def test_what_a_file_may_not_say_is_one_line(text: str, says: str, write) -> None:
    name = write(text)
    found = CliRunner().invoke(main, ["cluster", name])
    assert found.exit_code == 2
    assert found.output.startswith(f"dcsvm: {name}")
    assert says in found.output
    assert found.output.count("\n") == 1


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    found = CliRunner().invoke(main, ["cluster", str(tmp_path / "none.yaml")])
    assert (found.exit_code, "there is no such file" in found.output) == (2, True)


@pytest.mark.parametrize(
    "other", [{"workers": 1}, {"scheduler": "tcp://h:1"}, {"memory_limit": "1GB"}]
)
def test_a_cluster_file_stands_alone(other, write) -> None:
    with pytest.raises(InputError, match="give either a cluster file or"):
        Execution(cluster=write(GOOD), **other)


def test_what_other_programs_apply_is_refused_with_their_command(write) -> None:
    for text, command in (
        ("apiVersion: v1\nkind: Pod\n---\na: 1\n", "kubectl apply -f"),
        ("services: {a: {image: b}}\n", "docker compose -f"),
    ):
        with pytest.raises(InputError, match=f"start it with `{command} .*, then give its sched"):
            Execution(cluster=write(text))


def test_absent_packages_and_queues_are_named(write, monkeypatch: pytest.MonkeyPatch) -> None:
    file = read_cluster(write(GOOD))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="the command sbatch is not installed here"):
        cluster_kinds.check(file)

    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(InputError, match=r"slurm needs dask-jobqueue: pip install dask-jobqueue"):
        cluster_kinds.check(file)
    ssh = read_cluster(write("kind: ssh\nhosts: [a, b]\nmemory: 1GB\n"))
    with pytest.raises(InputError, match="kind ssh needs asyncssh"):
        cluster_kinds.check(ssh)


def test_a_script_neither_makes_the_folder_of_logs_nor_certificates(
    write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = GOOD + "options: {log_directory: logs, security: true, shared_temp_directory: .}\n"
    script = cluster_kinds.job_script(read_cluster(write(text)))
    assert "#SBATCH -o logs/dask-worker" in script
    assert "--protocol tls://" in script
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]


def test_a_file_goes_before_what_every_worker_gets(write) -> None:
    text = GOOD + "environment: {OMP_NUM_THREADS: 2, NUMBA_CACHE_DIR: a b}\n"
    text += "dask: {distributed.comm.timeouts.tcp: 20s}\noptions: {job_script_prologue: [last]}\n"
    lines = cluster_kinds.job_script(read_cluster(write(text))).splitlines()
    assert "export OMP_NUM_THREADS=2" in lines
    assert "export NUMBA_CACHE_DIR='a b'" in lines
    assert "unset NUMBA_CACHE_DIR" not in lines
    assert "export DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP=20s" in lines
    assert lines[-2] == "last"


def test_the_timeouts_are_such_that_dask_does_not_complain() -> None:
    import yaml

    found = dotted(yaml.safe_load(cluster_kinds.SETTINGS.read_text()))
    assert int(found["distributed.comm.timeouts.tcp"].removesuffix("s")) >= 12


def test_a_nanny_gives_its_worker_allocator_and_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = SimpleNamespace(memory_limit=800)
    nanny = SimpleNamespace(
        memory_manager=manager,
        local_directory=str(tmp_path),
        pre_spawn_env={},
        env={},
        process=None,
        _on_worker_exit_sync=print,
    )
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    preload.dask_setup(nanny)
    assert nanny.env == nanny.pre_spawn_env
    assert nanny.env["MALLOC_TRIM_THRESHOLD_"] == "100"
    cache = Path(nanny.env["NUMBA_CACHE_DIR"])
    assert cache.parent == tmp_path
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    # What somebody else has put there is not run.
    monkeypatch.setattr(os, "getuid", lambda: cache.stat().st_uid + 1)
    preload.dask_setup(nanny)
    assert Path(nanny.env["NUMBA_CACHE_DIR"]).parent != tmp_path
    Path(nanny.env["NUMBA_CACHE_DIR"]).rmdir()
