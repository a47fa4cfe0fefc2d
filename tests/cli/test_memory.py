"""The command line where memory ends: the setting, and a system that has no more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dcsvm_dask.cli import COMMANDS, READ_NOTHING, main
from dcsvm_dask.readers import memory


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in READ_NOTHING])
def test_the_setting_is_an_option(command: str) -> None:
    for _ in range(2):  # a command is imported once
        found = CliRunner().invoke(main, [command, "--help"])
        assert found.output.count("--memory-bound SIZE") == 1


@pytest.mark.long
def test_the_setting_is_kept_for_the_command_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, np.asfortranarray(np.zeros((20_000, 1000))))
    packed = tmp_path / "rows.npz"
    np.savez_compressed(packed, X=np.load(path), y=np.arange(20_000) % 2)
    words = ["ingest", str(packed), "--out", str(tmp_path / "d.zarr"), "--memory-bound"]
    found = CliRunner().invoke(main, [*words, "300MiB"])
    assert found.exit_code == 2
    assert f"{packed}, X: an array of shape (20000, 1000), float64," in found.stderr
    assert "takes 458 MiB of memory, above the memory bound of 300 MiB" in found.stderr
    assert "raise --memory-bound" in found.stderr
    assert memory.bound() == memory.DEFAULT
    found = CliRunner().invoke(main, [*words, "1GiB"])
    assert found.exit_code == 0, found.output


def test_a_size_that_is_none() -> None:
    found = CliRunner().invoke(main, ["info", "x.zarr", "--memory-bound", "much"])
    assert found.exit_code == 2
    assert found.stderr == "dcsvm: memory-bound must be a size like 800MB or 2GiB, got 'much'\n"


@pytest.mark.parametrize("said", ["", "Unable to allocate 16.0 GiB"])
def test_a_system_without_more_memory(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError(*([said] if said else []))

    monkeypatch.setattr("dcsvm_dask.cli.info.describe", fail)
    found = CliRunner().invoke(main, ["info", "x.zarr"])
    assert found.exit_code == 1
    assert found.stderr.startswith("dcsvm: the system has not enough memory")
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1
