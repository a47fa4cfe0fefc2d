"""The command that writes tables of merges, and trainings that read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dcsvm_dask.cli import main
from dcsvm_dask.solvers import MergeTables


def test_tables_are_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tables.npz"
    words = ["merge-tables", str(path), "--table-size", "30"]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"tables of 30 x 30 points written to {path}" in done.stdout
    with np.load(path) as found:
        np.testing.assert_array_equal(found["h"], MergeTables.of(30).h)
        np.testing.assert_array_equal(found["wd"], MergeTables.of(30).wd)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "exists; name another file or give --overwrite" in done.stderr
    done = CliRunner().invoke(main, [*words, "--overwrite", "--quiet"])
    assert (done.exit_code, done.output) == (0, "")


@pytest.mark.parametrize("size", ["1", "5000", "x"])
def test_a_size_that_no_table_has(size: str, tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    done = CliRunner().invoke(main, ["merge-tables", str(path), "--table-size", size])
    assert done.exit_code == 2
    assert "--table-size" in done.stderr
    assert not path.exists()
