"""The list of failed tasks that every other test is compared with."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from distributed import Client, LocalCluster


@pytest.mark.failing_tasks
def test_a_task_that_fails_in_a_silent_worker_process_is_listed(failed_tasks_file: Path) -> None:
    before = len(failed_tasks_file.read_text())
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        error = client.submit(divmod, 1, 0, key="never-whole").exception()
    assert isinstance(error, ZeroDivisionError)
    assert "Key: never-whole" in " ".join(failed_tasks_file.read_text()[before:].split())
