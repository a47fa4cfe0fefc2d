"""Which SVMs a task solves."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.methods.dcsvm.classes.together import MOST_TOGETHER, TOGETHER, tasks_of_svms
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.runtime.execution import Execution

MANY = np.random.default_rng(0).integers(2, 900, 5000).tolist()


@pytest.mark.parametrize("rows", [[7], [1000, 1000], [3000, 2, 3], [2] * 1000, MANY])
def test_each_svm_is_in_one_task_within_its_limits(rows: list[int]) -> None:
    tasks = tasks_of_svms(rows)
    found = list(chain.from_iterable(tasks))
    assert sorted(found) == list(range(len(rows)))
    assert [rows[number] for number in found] == sorted(rows, reverse=True)
    for numbers in tasks:
        work = sum(rows[number] ** 2 for number in numbers)
        assert len(numbers) == 1 or (work <= TOGETHER and len(numbers) <= MOST_TOGETHER)


def test_large_svms_have_tasks_of_their_own_and_small_ones_share_one() -> None:
    assert tasks_of_svms([2, 5000, 3, 1000]) == [[1], [3], [2, 0]]
    assert len(tasks_of_svms([4] * 22791)) == 90  # 214 classes of two rows


def test_a_run_of_many_classes_has_few_tasks(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 30
    api.ingest((X, y), tmp_path / "d.zarr")
    here = Execution(workers=0)
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", execution=here, quiet=True, report=False)
    solved = [name for name in run.folder.nodes("model-pairs") if name != COMMIT]
    assert len(solved) == 2
    record = run.status()["stages"]["model-pairs"]
    assert (record["pairs"], len(record["of_pairs"]["objective"])) == (435, 435)
