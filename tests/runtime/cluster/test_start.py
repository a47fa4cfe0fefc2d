"""Trainings on what cluster files start: a queue that runs its jobs on this machine, SSH hosts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from tests.small_run import WORDS


@pytest.mark.long
def test_the_local_preset_trains(
    command: Callable[..., Any], small: Path, tmp_path: Path, undisturbed: api.Run, look: Any
) -> None:
    file = Path(__file__).parents[3] / "cluster" / "laptop.yaml"
    train = command("train", small, "--run", tmp_path / "run", "--cluster", file, *WORDS)
    assert train.wait() == 0, train.said
    assert "running on 2 local worker(s)" in train.said
    run = api.open_run(tmp_path / "run")
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


@pytest.mark.long
def test_jobs_of_a_queue_predict(
    queue: Any, cache: str, command: Callable[..., Any], small: Path, undisturbed: api.Run
) -> None:
    words = ("--json", "--quiet", "--cluster", queue.write("workers: 1", cache))
    evaluate = command("evaluate", undisturbed.url, small, *words)
    assert evaluate.wait() == 0, evaluate.said
    # Before it Dask may warn that another process has its dashboard's port.
    found = json.loads(evaluate.said[evaluate.said.index("{") :])
    assert found["confusion"] == undisturbed.evaluate(small)["confusion"]
    assert queue.left() == []


@pytest.mark.long
def test_jobs_of_a_queue_train_and_end_with_the_run(
    queue: Any,
    cache: str,
    command: Callable[..., Any],
    small: Path,
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
) -> None:
    file = queue.write("workers: 2", cache)
    train = command("train", small, "--run", tmp_path / "run", "--cluster", file, *WORDS)
    assert train.wait() == 0, train.said
    assert f"waiting for the first worker of {file}; scheduler tls://" in train.said
    assert "dashboard http://127.0.0.1:" in train.said
    assert "lost" not in train.said
    run = api.open_run(tmp_path / "run")
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    assert len(queue.jobs) == 2
    assert queue.left() == []
    assert queue.certificates() == []


@pytest.mark.long
def test_a_cluster_that_adapts_from_no_worker_trains(
    queue: Any,
    cache: str,
    command: Callable[..., Any],
    small: Path,
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
) -> None:
    file = queue.write("adapt: {minimum: 0, maximum: 2}", cache)
    train = command("train", small, "--run", tmp_path / "run", "--cluster", file, *WORDS)
    assert train.wait() == 0, train.said
    np.testing.assert_array_equal(
        look.alpha(api.open_run(tmp_path / "run")), look.alpha(undisturbed)
    )
    assert queue.left() == []


@pytest.mark.long
@pytest.mark.parametrize(("how", "status"), [("interrupt_group", 130), ("terminate", 143)])
def test_ctrl_c_and_sigterm_end_the_jobs(
    how: str,
    status: int,
    queue: Any,
    cache: str,
    command: Callable[..., Any],
    small: Path,
    tmp_path: Path,
    faults: Any,
) -> None:
    faults.hold("level-1")
    place = tmp_path / "run"
    words = ("--run", place, "--cluster", queue.write("workers: 1", cache), *WORDS)
    train = command("train", small, *words)
    train.wait_for(lambda: faults.begun_at("level-1") > 0)
    assert str(2**30 // 8) in queue.variables("MALLOC_TRIM_THRESHOLD_")
    assert queue.certificates()
    getattr(train, how)()
    assert train.wait() == status, train.said
    assert "Traceback" not in train.said
    assert queue.left() == []
    assert queue.certificates() == []
    assert api.open_run(place).status()["state"] == "interrupted"


@pytest.mark.long
def test_ctrl_c_while_no_job_has_begun(
    queue: Any, cache: str, command: Callable[..., Any], small: Path, tmp_path: Path
) -> None:
    (tmp_path / "queue" / "sbatch").write_text("#!/bin/sh\necho Submitted batch job 999999999\n")
    words = ("--cluster", queue.write("workers: 1", cache), *WORDS)
    train = command("train", small, "--run", tmp_path / "run", *words)
    train.wait_for(lambda: "waiting for the first worker" in train.said)
    time.sleep(1.0)
    train.interrupt_group()
    assert train.wait() == 130, train.said
    assert "Traceback" not in train.said


@pytest.mark.long
def test_the_message_of_a_queue_that_refuses_is_shown(
    queue: Any,
    cache: str,
    command: Callable[..., Any],
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SBATCH_REFUSES", "invalid partition")
    words = ("--run", tmp_path / "run", "--cluster", queue.write("workers: 1", cache), *WORDS)
    train = command("train", small, *words)
    assert train.wait() == 1
    assert "did not start: " in train.said
    assert "sbatch: error: invalid partition" in train.said
    assert "Traceback" not in train.said
    assert queue.certificates() == []
    assert api.open_run(tmp_path / "run").status()["state"] == "failed"


def test_too_little_memory_is_refused_before_anything_is_submitted(
    queue: Any, cache: str, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    file = queue.write("workers: 1", cache)
    file.write_text(file.read_text().replace("1GiB", "200MB"))
    with pytest.raises(
        InputError, match=f"a worker has 191 MiB and ends at 95% of it; raise memory in {file}"
    ):
        train(execution=api.Execution(cluster=file))
    assert not (tmp_path / "run").exists()
    assert queue.jobs == []
