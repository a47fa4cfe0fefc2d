"""Messages name the parameter of the door that was used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.spelling import as_options, flag, option
from dcsvm_dask.storage.outputs import output
from tests.command_line import invoke


def test_names_are_options_inside_the_block_only() -> None:
    assert (flag("test_fraction"), option("test_fraction")) == (
        "test_fraction=True",
        "test_fraction",
    )
    with as_options():
        assert (flag("test_fraction"), option("test_fraction")) == (
            "--test-fraction",
            "--test-fraction",
        )
    assert flag("overwrite") == "overwrite=True"


def test_what_exists_is_replaced_by_what_each_door_has(tmp_path: Path) -> None:
    rows, place = tmp_path / "rows.csv", tmp_path / "d.zarr"
    rows.write_text("a,label\n1,x\n2,y\n")
    ingest((np.eye(2), np.array([0, 1])), place)
    with pytest.raises(InputError, match=r"remove it or give overwrite=True$"):
        ingest((np.eye(2), np.array([0, 1])), place)
    done = invoke("ingest", rows, "--label", "label", "--out", place)
    assert done.exit_code == 2
    assert done.stderr.endswith("remove it or give --overwrite\n")
    with pytest.raises(InputError, match=r"name another file or give overwrite=True$"):
        output(rows)
    done = invoke("plan", place, "--svg", rows)
    assert done.stderr.endswith("name another file or give --overwrite\n")
