"""The workers that a plan is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.workers import Workers, planned_workers

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


def test_local_workers_share_their_threads_with_a_task_that_is_alone() -> None:
    found = planned_workers(Execution(workers=2, memory_limit="1GiB"))
    assert found == Workers(2, 2, 1 << 30)
