"""The model depends on data, parameters and seed alone: not on workers, chunks or the place."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import LocalCluster

from dcsvm_dask import __version__, api
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.methods import resources
from dcsvm_dask.methods.node import run_node
from dcsvm_dask.methods.settings import BLOCK_CAP, CAPS, usual_set_cap
from dcsvm_dask.runtime import on_cluster, tasks
from dcsvm_dask.runtime.capacity import memory_of_slots
from dcsvm_dask.runtime.cluster import connect as clusters
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.workers import Workers, planned_workers
from dcsvm_dask.storage.claims import read_owner
from dcsvm_dask.storage.location import Location
from dcsvm_dask.versions import RESULT_VERSION
from tests.marks import soak

NEXT = Execution(workers=0)
LARGEST_SET = usual_set_cap(BLOCK_CAP)


@pytest.mark.long
def test_two_workers_of_a_scheduler_give_the_same_bits(
    two_workers: Execution, train: Callable[..., api.Run], undisturbed: api.Run, look: Any
) -> None:
    run = train(execution=two_workers)
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    found, alone = run.status(), undisturbed.status()
    assert len(found["peak_bytes"]) == 2  # both took part
    for key in ("objective", "gap", "violation", "n_support", "kernel_values"):
        assert found[key] == alone[key], key
    assert look.attempts(run.folder).keys() == look.attempts(undisturbed.folder).keys()
    assert look.orphans(run.folder) == []


def test_a_scheduler_found_by_its_file_predicts(
    two_workers: Execution, undisturbed: api.Run, small: Path, tmp_path: Path
) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": two_workers.scheduler}))
    found = undisturbed.evaluate(small, execution=Execution(scheduler_file=str(file)))
    assert found == {**undisturbed.evaluate(small), "ms_per_row": found["ms_per_row"]}


@pytest.mark.long
@pytest.mark.parametrize("workers", [soak(1), soak(2), 3, soak(4)])
def test_any_number_of_workers_gives_the_same_bits(
    workers: int, train: Callable[..., api.Run], undisturbed: api.Run, look: Any
) -> None:
    run = train(execution=Execution(workers=workers))
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


@pytest.mark.long
@pytest.mark.parametrize("workers_a_host", [soak(1), 3])
def test_any_number_of_workers_a_host_gives_the_same_bits(
    workers_a_host: int, train: Callable[..., api.Run], undisturbed: api.Run, look: Any
) -> None:
    # As `dask worker --nworkers` shares a host's memory out.
    with LocalCluster(
        n_workers=workers_a_host,
        threads_per_worker=2,
        memory_limit=(4 << 30) // workers_a_host,
        dashboard_address=":0",
    ) as host:
        run = train(execution=Execution(scheduler=host.scheduler_address))
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    assert run.folder.digest == undisturbed.folder.digest


@pytest.mark.long
@pytest.mark.soak
def test_memory_changes_no_bit_but_by_sizes_that_are_shown_and_can_be_given(
    demo_rows: Callable[..., Path], look: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, words = demo_rows(13_000), {"gamma": 1.0, "C": 1.0, "tol": 0.1, "levels": 0}
    assert LARGEST_SET < 13_000  # which are several working sets

    def train(name: str, memory: str, workers: int, **sizes: int) -> tuple[Any, Any]:
        execution = Execution(workers=workers, memory_limit=memory)
        run = api.train(
            data, tmp_path / name, execution=execution, progress="lines", **words, **sizes
        )
        return look.alpha(run), run.folder.header["settings"]

    plenty, settings = train("plenty", "8GiB", 0)
    enough, same = train("enough", "3GiB", 2)
    assert same == settings
    assert settings["set_cap"] == LARGEST_SET
    np.testing.assert_array_equal(plenty, enough)
    assert "too small" not in capsys.readouterr().err
    few, lowered = train("few", "450MiB", 0)
    assert lowered["set_cap"] < settings["set_cap"]
    sizes = {name: lowered[name] for name in CAPS if lowered[name] != settings[name]}
    options = " ".join(f"--{name.replace('_', '-')} {size}" for name, size in sizes.items())
    said = f"its last digits: the run is trained with {options}; give these wherever"
    assert said in capsys.readouterr().err
    given, asked = train("given", "8GiB", 2, **sizes)
    assert asked == lowered
    np.testing.assert_array_equal(few, given)


def test_the_chunks_of_the_data_set_do_not_matter(
    demo_rows: Callable[..., Path],
    train: Callable[..., api.Run],
    undisturbed: api.Run,
    look: Any,
) -> None:
    run = train(data=demo_rows(600, chunk_rows=47))
    assert run.folder.digest == undisturbed.folder.digest
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


@pytest.mark.long
def test_an_object_store_holds_the_same_run(
    demo_rows: Callable[..., Path],
    train: Callable[..., api.Run],
    undisturbed: api.Run,
    look: Any,
) -> None:
    place = Location.of(f"memory://{uuid.uuid4().hex}/run")
    try:
        run = train(run=place)
        np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
        assert look.orphans(run.folder) == []
        assert read_owner(place) is None
    finally:
        place.delete()


def test_the_seed_changes_the_partition(
    train: Callable[..., api.Run], undisturbed: api.Run
) -> None:
    other = train(seed=1, stop_at=2)
    ours, theirs = (run.status()["stages"]["level-2"] for run in (other, undisturbed))
    assert ours["D"] != theirs["D"]


def test_memory_places_are_refused_where_other_processes_would_use_them(
    small: Path, tmp_path: Path
) -> None:
    for data, run in ((small, "memory://m/run"), ("memory://m/data.zarr", tmp_path / "run")):
        if data != small:
            api.ingest((np.eye(4, dtype=np.float32), np.array([0, 1, 0, 1])), data)
        for execution in (Execution(workers=1), Execution(scheduler="tcp://127.0.0.1:1")):
            with pytest.raises(InputError, match="only this process sees memory://"):
                api.train(data, run, execution=execution, quiet=True)
        assert not Location.of(run).exists()
    Location("memory://m").delete()


def test_a_scheduler_that_does_not_answer_is_one_sentence_and_changes_nothing(
    train: Callable[..., api.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 0.5)
    with pytest.raises(InputError, match="no Dask scheduler answers at tcp://127"):
        train(execution=Execution(scheduler="tcp://127.0.0.1:1"))
    assert not (tmp_path / "run").exists()
    run = train()
    with pytest.raises(InputError, match="no Dask scheduler answers at tcp://127"):
        api.resume(run.url, tol=1e-5, execution=Execution(scheduler="tcp://127.0.0.1:1"))
    assert run.status()["state"] == "complete"


def test_a_scheduler_whose_workers_have_too_little_memory_is_refused(
    train: Callable[..., api.Run], tmp_path: Path
) -> None:
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            memory_limit="200MB",
            dashboard_address=":0",
        ) as weak,
        pytest.raises(
            InputError,
            match=r"worker inproc://\S+ has 191 MiB and ends at 95% of it; raise the workers'",
        ),
    ):
        train(execution=Execution(scheduler=weak.scheduler_address))
    assert not (tmp_path / "run").exists()


def test_workers_that_do_not_see_the_run_are_named(
    two_workers: Execution, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cluster, "complaint", lambda run, data: f"{run}: there is no run")
    with pytest.raises(InputError, match=r"worker tcp://.*: there is no run.* every worker sees"):
        train(execution=two_workers)


def test_workers_of_another_version_are_named(
    two_workers: Execution,
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for package, said in (
        (("0.0.1", RESULT_VERSION), f"dcsvm_dask 0.0.1 with results of version {RESULT_VERSION}"),
        ((__version__, 0), f"dcsvm_dask {__version__} with results of version 0"),
        (__version__, "another dcsvm_dask"),  # what the first versions answered
    ):
        monkeypatch.setattr(clusters, "installed", lambda package=package: package)
        with pytest.raises(InputError, match=rf"worker tcp://.* has {said}; install"):
            train(execution=two_workers)

    def absent() -> tuple[str, int]:
        raise ModuleNotFoundError("No module named 'dcsvm_dask'")

    def lacking() -> tuple[str, int]:
        raise ModuleNotFoundError("No module named 'zarr'", name="zarr")

    for k, (installed, said) in enumerate(
        (
            (absent, "no dcsvm_dask"),
            (lacking, r"a dcsvm_dask that cannot be imported \(No module named 'zarr'\)"),
        )
    ):
        monkeypatch.setattr(clusters, "installed", installed)
        with pytest.raises(InputError, match=rf"worker tcp://.* has {said}; install"):
            train(run=tmp_path / f"other-{k}", execution=two_workers)


def test_memory_of_slots_is_the_least_share_of_a_thread() -> None:
    workers = {
        "a": {"memory_limit": 800, "nthreads": 2},
        "b": {"memory_limit": 500, "nthreads": 1},
        "c": {"memory_limit": None, "nthreads": 8},
    }
    assert memory_of_slots(workers) == 400
    assert memory_of_slots({"c": workers["c"]}) is None


@pytest.mark.one_quick
@pytest.mark.failing_tasks
@pytest.mark.parametrize("where", ["here", "cluster"])
def test_a_step_that_fails_ends_the_run_with_a_sentence_and_can_be_tried_again(
    where: str,
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tasks, "run_node", fail)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        execution = NEXT if where == "here" else Execution(scheduler=cluster.scheduler_address)
        with pytest.raises(RunError, match=r"no space is left \(stage \w+"):
            train(execution=execution)
    found = api.open_run(tmp_path / "run").status()
    assert found["state"] == "failed"
    assert found["message"].count("no space is left") == 1
    monkeypatch.undo()
    again = api.resume(tmp_path / "run", stop_at=2, execution=NEXT, quiet=True)
    assert again.status()["state"] == "complete"


def test_workers_in_this_process_leave_its_memory_and_threads_as_they_were(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def here() -> tuple[int, int, int]:
        return resources.threads(), resources.side_by_side(), resources.cache_bytes()

    seen = set()

    def watched(*args: Any, **more: Any) -> Any:
        seen.add(resources.cache_bytes())
        return run_node(*args, **more)

    monkeypatch.setattr(tasks, "run_node", watched)
    before = here()
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        memory_limit="3GB",
        dashboard_address=":0",
    ) as cluster:
        train(stop_at=2, execution=Execution(scheduler=cluster.scheduler_address))
    assert seen == {int(resources.CACHE_SHARE * 3e9)}
    assert here() == before


def test_no_thread_of_a_run_outlives_it(train: Callable[..., api.Run]) -> None:
    train(stop_at=2)
    assert not [thread for thread in threading.enumerate() if thread.name == "folder-lock"]


HOSTS = "kind: ssh\nhosts: [a, b, c]\nworkers_per_host: 4\nmemory: 2GiB\n"

JOBS = "kind: slurm\nadapt: {minimum: 8, maximum: 64}\nworkers_per_job: 8\nmemory: 4GiB\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (HOSTS, Workers(8, 1, 2 << 30)),  # the first host has the scheduler
        (JOBS, Workers(64, 1, 4 << 30)),  # nothing is submitted, nor is the queue looked for
        ("kind: local\nworkers: 3\nmemory: 1GiB\n", Workers(3, 3, 1 << 30)),
    ],
)
def test_a_cluster_file_says_how_many_and_how_large(
    tmp_path: Path, text: str, found: Workers
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    assert planned_workers(Execution(cluster=file)) == found


@pytest.mark.long
def test_local_workers_share_their_threads_with_a_task_that_is_alone() -> None:
    found = planned_workers(Execution(workers=2, memory_limit="1GiB"))
    assert found == Workers(2, 2, 1 << 30)
