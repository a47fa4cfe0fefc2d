"""Fixtures for every room: real data where it is at hand, one BLAS thread."""

from __future__ import annotations

from dcsvm_dask.runtime.compilation import use_own_cache

# Before anything imports Numba: this process and the commands that it starts share what they
# compile.
use_own_cache()

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from dcsvm_dask.diagnostics.report.reporting import Reporting
from dcsvm_dask.storage import lock
from tests import failed_tasks
from tests.compiling import compile_in_turn

compile_in_turn()

# How long an example takes is the machine's business.
settings.register_profile("without-deadline", settings(), deadline=None)
settings.load_profile("without-deadline")

pytest_plugins = ("tests.faults", "tests.small_data", "tests.small_run", "tests.two_workers")

PRELOAD = "distributed.worker.preload"
FIRST_CASES = "DCSVM_TEST_FIRST_CASES"
"""Folders of tests, with spaces between, whose parametrized tests have their first case alone."""
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as long all cases but the first quick one of tests that are marked `one_quick`.

    And of all tests in the folders that `FIRST_CASES` names.
    """
    here = Path(__file__).parent
    folders = [here / name for name in os.environ.get(FIRST_CASES, "").split()]
    seen: set[str] = set()
    for item in items:
        one = item.get_closest_marker("one_quick") or not {*folders}.isdisjoint(item.path.parents)
        if one and not item.get_closest_marker("long"):
            test = item.nodeid.partition("[")[0]
            if test in seen:
                item.add_marker(pytest.mark.long)
            seen.add(test)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Any]:
    """Return a loader of the real data sets beside the checkout; the test skips where absent."""

    def load(name: str) -> Any:
        path = SHARED / f"{name}.npz"
        if not path.exists():
            if os.environ.get("DCSVM_REQUIRE_SHARED_DATA"):
                pytest.fail(f"the data set {name}.npz is required here and absent")
            pytest.skip(
                f"needs the data set {name}.npz in ../shared/data, which is absent; "
                "tests/DATA.md says where to get it"
            )
        return np.load(path)

    return load


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """No test's machine loses power; `runtime/test_power_loss.py` has processes of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_report_at_the_end_of_runs() -> Iterator[None]:
    """Half a second for each of hundreds of runs; tests of reports ask for them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DCSVM_REPORT", "0")
        patch.setattr(Reporting, "write", lambda self: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def failed_tasks_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Have every worker, of this process and of commands, keep a list of tasks that failed."""
    file = tmp_path_factory.mktemp("failed") / "tasks"
    file.touch()
    preload = [str(Path(failed_tasks.__file__))]
    with pytest.MonkeyPatch.context() as patch, dask.config.set({PRELOAD: preload}):
        patch.setenv("DASK_DISTRIBUTED__WORKER__PRELOAD", repr(preload))
        patch.setenv(failed_tasks.FILE, str(file))
        yield file


@pytest.fixture(autouse=True)
def _no_task_fails(request: pytest.FixtureRequest, failed_tasks_file: Path) -> Iterator[None]:
    """Fail where a task failed on a worker, unless the test is marked `failing_tasks`."""
    before = failed_tasks_file.stat().st_size
    yield
    with failed_tasks_file.open() as file:
        file.seek(before)
        found = file.read()
    if found and request.node.get_closest_marker("failing_tasks") is None:
        pytest.fail(f"tasks failed on workers:\n{found}")


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Give an S3 server on loopback, as a maker of buckets that returns their URLs."""
    import fsspec
    import s3fs
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    none = str(tmp_path_factory.mktemp("aws") / "none")

    def make(name: str) -> str:
        fsspec.filesystem("s3").mkdir(f"s3://{name}")
        return f"s3://{name}"

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": none,
            "AWS_SHARED_CREDENTIALS_FILE": none,
        }.items():
            patch.setenv(name, value)
        patch.setattr(lock, "SETTLE_SECONDS", 0.05)  # this server's listings are never old
        s3fs.S3FileSystem.clear_instance_cache()
        yield make
    s3fs.S3FileSystem.clear_instance_cache()
    gc.collect()
    moto.stop()
