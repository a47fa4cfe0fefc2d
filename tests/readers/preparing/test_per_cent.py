"""Numbers with a per cent sign, and what other formats and programs make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.prediction.batches import open_batches
from dcsvm_dask.storage.preparation import Preparation

N = 60


def prepared(folder: Path) -> Preparation:
    """Return what is learned of a table with a column of numbers with %."""
    values = np.random.default_rng(0).integers(1, 100, N)
    rows = [f"{value}%,{k % 7},{'uv'[int(value > 50)]}" for k, value in enumerate(values)]
    (folder / "a.csv").write_text("\n".join(["rate,k,y", *rows]) + "\n")
    return Preparation.of(ingest(folder / "a.csv", folder / "d.zarr", scale="none"))


@pytest.mark.parametrize(
    ("rates", "is_doubtful"),
    [([0.64, 0.2], True), ([-1.0, 0.5], True), ([64.0, 0.2], False), ([0.0, 0.0], False)],
)
def test_shares_of_1_are_doubted(rates: list[float], is_doubtful: bool, tmp_path: Path) -> None:
    learned = prepared(tmp_path)
    pq.write_table(pa.table({"rate": rates, "k": [1, 2]}), tmp_path / "b.parquet")
    found = open_batches(str(tmp_path / "b.parquet"), learned, labelled=False)
    assert sum(batch.n_rows for batch in found.batches()) == 2
    assert len(found.doubts) == is_doubtful
    for doubt in found.doubts:
        assert "numbers of the column 'rate' are at most" in doubt
        assert doubt.endswith("had %: multiply them by 100 where they are shares of 1")


def test_numbers_of_text_have_the_sign_of_the_training_rows(tmp_path: Path) -> None:
    learned = prepared(tmp_path)
    (tmp_path / "b.csv").write_text("rate,k\n0.64,1\n")
    found = open_batches(str(tmp_path / "b.csv"), learned, labelled=False)
    with pytest.raises(InputError, match=r"line 2: .*those of the training rows are with %"):
        [*found.batches()]
