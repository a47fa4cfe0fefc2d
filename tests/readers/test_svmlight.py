"""svmlight text: what scikit-learn's reader gives, on real data, packed forms and odd lines."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers import files
from dcsvm_dask.readers.open import find_format, open_source
from dcsvm_dask.readers.svmlight import SvmlightSource


def read(path: Path, **options: Any) -> tuple[Any, Any]:
    source = SvmlightSource(str(path), **options)
    blocks = list(source.blocks())
    width = max(rows.shape[1] for rows, _ in blocks)
    parts = [
        sparse.csr_array((r.data, r.indices, r.indptr), (r.shape[0], width)) for r, _ in blocks
    ]
    X = sparse.vstack(parts, format="csr")[:, source.first_feature :]
    return X, np.concatenate([labels for _, labels in blocks])


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rows.svm"
    path.write_text(text)
    return path


@pytest.mark.one_quick
@pytest.mark.parametrize("name", ["a9a", "heart_scale", "reuters_money_fx"])
def test_real_data_as_scikit_learn_reads_them(
    name: str, shared_data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = shared_data(name)
    if "X_train" in archive:
        X = archive["X_train"][:5000]
    else:
        data, indices, indptr = (archive[f"X_train_{p}"] for p in ("data", "indices", "indptr"))
        X = sparse.csr_array((data, indices, indptr.astype(np.int32)), archive["X_train_shape"])
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, archive["y_train"][: X.shape[0]], str(path), zero_based=False)
    monkeypatch.setattr(files.text_blocks, "__defaults__", (1 << 16,))  # many blocks
    mine, labels = read(path)
    theirs, their_labels = load_svmlight_file(str(path), dtype=np.float64)
    assert mine.shape == theirs.shape
    assert (mine != theirs).nnz == 0
    np.testing.assert_array_equal(labels, their_labels)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz"])
def test_packed_files(ending: str, tmp_path: Path) -> None:
    text = b"".join(b"%d 1:%d 7:0.25\n" % (k % 2, k) for k in range(1, 3001))
    packed = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    path = tmp_path / f"rows.svm{ending}"
    path.write_bytes(packed[ending](text))
    assert find_format(str(path)) == "svmlight"
    X, labels = read(path)
    np.testing.assert_array_equal(X[:, 0].toarray(), np.arange(1, 3001))
    np.testing.assert_array_equal(labels, np.arange(1, 3001) % 2)


def test_odd_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "# a comment\n\n+1 qid:3 1:1.5\t3:-2e-1  # rest\r\n-1\n  2.5 2:0 4:7   \n-1 4:1 # x 5:1",
    )
    X, labels = read(path)
    np.testing.assert_array_equal(
        X.toarray(),
        [[1.5, 0, -0.2, 0], [0, 0, 0, 0], [0, 0, 0, 7], [0, 0, 0, 1]],
    )
    np.testing.assert_array_equal(labels, [1, -1, 2.5, -1])


def test_indices_count_from_0_if_an_index_0_occurs(tmp_path: Path) -> None:
    path = write(tmp_path, "1 2:1\n-1 0:5 1:2\n")
    np.testing.assert_array_equal(read(path)[0].toarray(), [[0, 0, 1], [5, 2, 0]])
    theirs = load_svmlight_file(str(path))[0]
    np.testing.assert_array_equal(theirs.toarray(), read(path)[0].toarray())


def test_a_known_width_gives_blocks_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path, "1 2:1\n-1 1:5\n")
    ((rows, _),) = open_source(path, n_features=4, first_feature=1).blocks()
    np.testing.assert_array_equal(rows.toarray(), [[0, 1, 0, 0], [5, 0, 0, 0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# note\n1\n1 1:3 5:1\n",
            "line 3: index 5 occurs, but the 4 features are 1..4; leave such features out",
        ),
        (
            "1 0:1\n",
            "line 1: index 0 occurs, but the 4 features are 1..4; count its indices from 1",
        ),
    ],
)
def test_a_known_width_is_kept(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        list(open_source(write(tmp_path, text), n_features=4, first_feature=1).blocks())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x 1:1", "label is not a number: 'x'; number the classes"),
        ("1,2 1:1", "several labels"),
        ("1 1:1 1:2", "ascend within a line: '1:2'"),
        ("1 3:1 2:2", "ascend within a line: '2:2'"),
        ("1 -1:1", "index is not in 0..2147483646: '-1:1'"),
        ("1 2147483647:1", "index is not in"),
        ("1 99999999999999999999999999:1", "index is not in"),
        ("1 1:", "value is not a number: '1:'"),
        ("1 1:a", "value is not a number: '1:a'"),
        ("1 1:1e", "value is not a number: '1:1e'"),
        ("1 1:1:2", "value is not a number"),
        ("1 1:1,2:1", "value is not a number"),
        ("1 1: 2", "value is not a number"),
        ("1 7", "index:value was expected, got '7'"),
        ("1 a:7", "index:value was expected"),
        ("1 3:nan", "NaN, infinite or too large for float32: '3:nan'"),
        ("1 3:-inf", "NaN, infinite or too large"),
        ("1 3:1e39", "NaN, infinite or too large"),
    ],
)
def test_bad_lines_name_file_and_line(line: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"1 1:1 2:2\n\n{line}\n1 1:1\n")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert message in str(caught.value)


NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
FORMS = st.sampled_from(["r", ".17g", ".18e", ".20f", ".5g", "g"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.tuples(NUMBERS, FORMS), max_size=5), min_size=1, max_size=5))
def test_values_are_those_of_float(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[tuple[float, str]]]
) -> None:
    cells = [[repr(v) if f == "r" else format(v, f) for v, f in row] for row in table]
    lines = [" ".join(["1", *(f"{k + 1}:{cell}" for k, cell in enumerate(row))]) for row in cells]
    path = tmp_path_factory.mktemp("floats") / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    X, _ = read(path)
    wanted = np.zeros((len(cells), max(5, X.shape[1])))
    for i, row in enumerate(cells):
        wanted[i, : len(row)] = [float(cell) for cell in row]
    np.testing.assert_array_equal(X.toarray(), wanted[:, : X.shape[1]])
    assert not wanted[:, X.shape[1] :].any()


def test_lines_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.arange(1, 20001)
    path = write(tmp_path, "1 1:1\n1 " + " ".join(f"{k}:{k}" for k in row) + "\n-1 2:3")
    monkeypatch.setattr(files.text_blocks, "__defaults__", (1 << 10,))
    X, labels = read(path)
    np.testing.assert_array_equal(X[[1], :].toarray()[0], row)
    np.testing.assert_array_equal(labels, [1, 1, -1])
    assert X[2, 1] == 3
