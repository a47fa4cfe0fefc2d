"""A cluster that a queue gives and takes workers of while it trains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from tests.small_run import WORDS

pytestmark = pytest.mark.long


def test_a_cluster_that_adapts_loses_nobody(
    queue: Any,
    cache: str,
    command: Callable[..., Any],
    small: Path,
    tmp_path: Path,
    faults: Any,
) -> None:
    file = queue.write("adapt: {minimum: 1, maximum: 3}", cache)
    quick = "{interval: 200ms, wait-count: 2, target-duration: 100ms}"
    file.write_text(f"{file.read_text()}dask: {{distributed: {{adaptive: {quick}}}}}\n")
    faults.add("*", "*", "wait", seconds=0.4, times=0)
    faults.hold("level-2", "solve-*")
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--cluster", file, *WORDS)
    train.wait_for(lambda: len(queue.jobs) > 1)
    faults.clear()
    faults.add("*", "*", "wait", seconds=0.4, times=0)
    assert train.wait() == 0, train.said
    assert "lost" not in train.said
    faults.check(api.open_run(place))
    assert not faults.redone()
    assert queue.left() == []
