"""One cache of compiled code, wherever the package is used from."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import pytest

from dcsvm_dask import compiled
from dcsvm_dask.compiled import sources_digest

WHERE = """
import numba
from dcsvm_dask.kernels import far
print(far._gaps.stats.cache_path)
print(repr(numba.config.CACHE_DIR))
"""


def folders(environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", WHERE], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_python_has_the_cache_of_the_command(tmp_path: Path) -> None:
    others = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    found, setting = folders(others | {"XDG_CACHE_HOME": str(tmp_path)})
    assert Path(found).parent == tmp_path / "dcsvm_dask" / sources_digest()
    assert setting == "''"  # functions of others are compiled to where they were


def test_a_folder_that_is_given_is_taken(tmp_path: Path) -> None:
    found, _ = folders(os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)})
    assert Path(found).parent == tmp_path


def test_a_cache_that_cannot_be_written_is_left_to_numba(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    compiled.usable_cache.cache_clear()
    assert compiled.usable_cache() == ""
    compiled.usable_cache.cache_clear()


def test_threads_that_import_at_the_same_time_leave_the_setting_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, inside, done = threading.Event(), threading.Event(), threading.Event()
    seen: list[str] = []

    def decorator(**flags: Any) -> Callable[[Any], Any]:
        del flags

        def decorated(function: Any) -> Any:
            if function is first:  # the other one begins meanwhile, if it can
                begun.set()
                inside.wait(0.2)
            else:  # it ends last
                inside.set()
                done.wait()
            seen.append(numba.config.CACHE_DIR)
            return function

        return decorated

    def first() -> None: ...

    def second() -> None: ...

    monkeypatch.setattr(numba, "njit", decorator)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(compiled, "usable_cache", lambda: str(tmp_path))
    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(compiled.njit(), first)
        begun.wait()
        other = threads.submit(compiled.njit(), second)
        one.add_done_callback(lambda _: done.set())
        assert [one.result(), other.result()] == [first, second]
    assert seen == 2 * [str(tmp_path)]
    assert numba.config.CACHE_DIR == ""


def test_rooms_whose_sources_do_not_count_compile_nothing() -> None:
    assert {path.name for path in compiled.ROOT.iterdir()} >= compiled.NOT_COMPILED
    for path in compiled.sources():
        if path.relative_to(compiled.ROOT).parts[0] in compiled.NOT_COMPILED:
            assert "njit" not in path.read_text(), path


def test_estimators_load_numba_when_they_are_imported() -> None:
    loaded = {}
    for name in ("dcsvm_dask", "dcsvm_dask.estimators.svc"):
        code = f"import sys, {name}; print('numba.np.arraymath' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        loaded[name] = done.stdout.strip()
    assert loaded == {"dcsvm_dask": "False", "dcsvm_dask.estimators.svc": "True"}
