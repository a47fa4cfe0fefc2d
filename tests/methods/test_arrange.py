"""Rows in block order: the same however many tasks write them, and each read few times."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from benchmarks.arrange import arrange, counted_bytes, size_of
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmError
from dcsvm_dask.kernels import kd_order
from dcsvm_dask.methods import sizes
from dcsvm_dask.methods.arrange import share_of_chunks
from dcsvm_dask.methods.partition import read_rule
from dcsvm_dask.methods.problem import ARRANGE, read_problem
from dcsvm_dask.methods.run_data import data_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.run import RunFolder
from tests.marks import long

ROWS = 1500
FORMS = ["dense", "sparse", "weighted", "classes", "one chunk"]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], DataSet]:
    """Return a function that ingests rows of the demo's data, some of them twice."""
    home = tmp_path_factory.mktemp("data")
    csv = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
    once = ingest(str(csv), home / "once", label="lodgepole_pine", scale="minmax", rows=(0, ROWS))
    X, y = once.rows.read(0, ROWS), once.read_codes(0, ROWS)
    again = np.random.default_rng(1).integers(0, ROWS, 300)
    X, y = np.concatenate([X, X[again]]), np.concatenate([y, y[again]])
    made: dict[str, DataSet] = {}

    def call(form: str) -> DataSet:
        if form not in made:
            how: dict[str, Any] = {"chunk_rows": len(y) if form == "one chunk" else 64}
            labels = y + 2 * (X[:, 0] > 0.5) if form == "classes" else y
            rows = sparse.csr_array(X) if form == "sparse" else X
            if form == "weighted":
                how["weights"] = np.random.default_rng(2).random(len(y)) + 0.5
            made[form] = ingest((rows, labels), home / form, **how)
        return made[form]

    return call


@pytest.fixture
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows be several shares."""
    monkeypatch.setattr(sizes, "SHARE_LEAST_BYTES", 50_000)
    monkeypatch.setattr(sizes, "PIECE_LEAST_BYTES", 1000)


@pytest.mark.one_quick
@pytest.mark.usefixtures("small_shares")
@pytest.mark.parametrize("parts", [long(1), 6])
@pytest.mark.parametrize("form", FORMS)
def test_rows_are_those_of_one_reader_of_all(
    form: str, parts: int, datasets: Callable[[str], DataSet], tmp_path: Path
) -> None:
    data = datasets(form)
    run = arrange(data, tmp_path / "run", parts, clusters=23)
    wanted = arranged_at_once(run)
    found = read_problem(run)
    np.testing.assert_array_equal(found.rows, wanted["rows"])
    np.testing.assert_array_equal(found.weights, wanted["weight"])
    np.testing.assert_array_equal(table(found.X.read(0, found.n)), wanted["X"])
    labels = found.codes if found.n_classes > 2 else found.stored > 0
    np.testing.assert_array_equal(labels, wanted["codes"])
    commit = run.node(ARRANGE, "commit")
    for name in ("offsets", "block_label", "representative"):
        np.testing.assert_array_equal(commit.read(name), wanted[name])


@pytest.mark.one_quick
@pytest.mark.usefixtures("small_shares")
@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_but_the_order_stays_of_a_shuffle(
    workers: int, datasets: Callable[[str], DataSet], tmp_path: Path
) -> None:
    run = arrange(datasets("dense"), tmp_path / "run", 5, clusters=23, threads=workers)
    assert not [key for key in run.stage(ARRANGE).keys() if "pages" in key]  # noqa: SIM118
    layers = {name.split("-")[0] for name in run.nodes(ARRANGE)}
    kept = {n.split(".")[0].split("-")[0] for n in run.stage(ARRANGE).list() if n[-5:] != ".json"}
    assert layers == {"cluster", "assign", "order", "pieces", "part", "commit"}
    assert kept == {"cluster", "order", "part", "commit"}
    assert len([name for name in run.nodes(ARRANGE) if "assign" in name]) > 3


@pytest.mark.usefixtures("small_shares")
def test_shares_that_were_deleted_are_made_again_for_a_part_that_is_gone(
    datasets: Callable[[str], DataSet], tmp_path: Path
) -> None:
    data, place = datasets("dense"), tmp_path / "run"
    run = arrange(data, place, 5, clusters=23)
    before = read_problem(run).X.read(0, 1000).copy()
    (run.stage(ARRANGE) / "commit.json").delete()
    (run.stage(ARRANGE) / "part-0003.json").delete()
    kept = run.node(ARRANGE, "part-0002").attempt
    again = arrange(data, place, 5, clusters=23, run=run)
    assert again.node(ARRANGE, "part-0002").attempt == kept
    np.testing.assert_array_equal(read_problem(again).X.read(0, 1000), before)


@pytest.mark.one_quick
@pytest.mark.usefixtures("small_shares")
@pytest.mark.parametrize("harm", ["flip", long("swap"), long("cut"), "delete"])
def test_a_damaged_page_is_no_row_of_a_block(
    harm: str,
    datasets: Callable[[str], DataSet],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dcsvm_dask.methods import arrange as shuffle

    take = shuffle.find_pieces

    def harmed(run: RunFolder, *rest: Any, **words: Any) -> Any:
        pages = sorted(Path(run.stage(ARRANGE).url).glob("assign-*/pages"))
        first, second = pages[0].read_bytes(), pages[1].read_bytes()
        if harm == "flip":
            pages[0].write_bytes(first[:200] + bytes([first[200] ^ 1]) + first[201:])
        elif harm == "swap":  # intact, but the rows of others
            pages[0].write_bytes(second)
        elif harm == "cut":
            pages[0].write_bytes(first[:-3])
        record = take(run, *rest, **words)
        if harm == "delete":
            pages[0].unlink()
        return record

    harmed.__module__, harmed.__name__ = take.__module__, take.__name__
    monkeypatch.setattr(shuffle, "find_pieces", harmed)
    with pytest.raises(DcsvmError, match=r"assign-0000.*pages.*(damaged|is missing|cut short)"):
        arrange(datasets("dense"), tmp_path / "run", 5, clusters=23)


@pytest.mark.long
@pytest.mark.parametrize("parts", [8, long(25)])
def test_arranging_reads_the_data_three_times_at_most(parts: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80_000, 40), dtype=np.float32)
    data = ingest((X, (X[:, 0] > 0.5).astype(int)), tmp_path / "data", chunk_rows=1000)
    with counted_bytes() as count:
        arrange(data, tmp_path / "run", parts, clusters=40)
    assert count["read"] <= 3 * size_of(data)


def test_shares_are_whole_chunks_and_all_of_them() -> None:
    borders = np.append(np.arange(0, 1000, 64), 1000)
    for parts in (1, 2, 7, 15, 40):
        found = [share_of_chunks(borders, part, parts) for part in range(parts)]
        assert found[0][0] == 0
        assert found[-1][1] == 1000
        assert all(a[1] == b[0] for a, b in pairwise(found))
        assert {border for pair in found for border in pair} <= set(borders.tolist())


def arranged_at_once(run: RunFolder) -> dict[str, np.ndarray]:
    """Arrange all rows in memory, as the definition says."""
    data = data_of(run)
    X, codes = data.rows.read(0, data.n_rows), data.read_codes(0, data.n_rows)
    weights = data.read_weights(0, data.n_rows)
    weights = np.ones(data.n_rows) if weights is None else weights
    labels = read_rule(run, ARRANGE).assign(X)
    dense = table(X)
    representative = np.arange(data.n_rows)
    first: dict[bytes, int] = {}
    for row in range(data.n_rows):
        key = dense[row].tobytes() + codes[row].tobytes()
        representative[row] = first.setdefault(key, row)
    rows, offsets = [], [0]
    for label in np.unique(labels):
        alone = np.flatnonzero((labels == label) & (representative == np.arange(data.n_rows)))
        rows.append(alone[kd_order(X[alone])])
        offsets.append(offsets[-1] + len(alone))
    order = np.concatenate(rows)
    return {
        "rows": order,
        "weight": np.bincount(representative, weights, data.n_rows)[order],
        "X": dense[order],
        "codes": codes[order],
        "offsets": np.array(offsets),
        "block_label": np.unique(labels),
        "representative": representative,
    }


def table(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)
