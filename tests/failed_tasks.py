"""Keeps a list of the tasks that fail on any Dask worker which the tests start.

It is a preload module of those workers, whichever command or cluster starts them, so that no test
passes beside tasks that failed and were done again. Local clusters of a run show no log.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

FILE = "DCSVM_TEST_FAILED_TASKS"
"""The environment variable that names the file of the list."""


class FailedTasks(logging.Handler):
    """Appends what a worker logs of a task that failed."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "Compute Failed" in text:
            with Path(os.environ[FILE]).open("a") as file:
                file.write(text.replace("\n", " ") + "\n")


def dask_setup(worker: Any) -> None:
    """Listen to the worker's log; Dask calls it."""
    del worker
    logger = logging.getLogger("distributed.worker")
    if FILE in os.environ and not any(isinstance(one, FailedTasks) for one in logger.handlers):
        logger.addHandler(FailedTasks())
