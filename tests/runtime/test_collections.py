"""Dask arrays and data frames become the data sets that the same rows in memory become."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from tests.marks import long
from tests.strategies import fuzz, inputs

LABELS: dict[str, Any] = {
    "words": np.array(["left", "right", "middle"]),
    "objects": np.array(["left", "right", "0"], dtype=object),
    "integers": np.array([-3, 7, 12]),
    "floats": np.array([0.5, -1.0, 2.0]),
    "booleans": np.array([False, True]),
}


def taken(place: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the commit object of a data set, and every object that it commits."""
    about = json.loads((place / "dataset.json").read_text())
    folder = place / about.pop("attempt")
    del about["checksum"]
    about["reading"].pop("format")
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return about, files


def check_same(gathered: Any, collection: Any, folder: Path, **words: Any) -> None:
    """Check that a collection becomes the data set of the same rows in memory, to the last byte."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DcsvmWarning)
        for name, source in (("one", gathered), ("other", collection)):
            api.ingest(source, folder / f"{name}.zarr", overwrite=True, **words)
    about, files = taken(folder / "one.zarr")
    other_about, other_files = taken(folder / "other.zarr")
    assert about == other_about
    assert files.keys() == other_files.keys()
    assert [key for key in files if files[key] != other_files[key]] == []


def rows_of(n: int, n_features: int, seed: int, *, dense: bool = True) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) * 10.0 ** rng.integers(-3, 4, n_features)
    X[:, 0] = 2.0  # a constant feature
    if not dense:
        X[rng.random(X.shape) < 0.7] = 0.0
    return X


def labels_of(n: int, kind: str, seed: int) -> np.ndarray:
    labels = LABELS[kind]
    codes = np.random.default_rng(seed).integers(0, len(labels), n)
    codes[:2] = 0, 1
    return labels[codes]


def in_chunks(X: np.ndarray, sizes: list[int]) -> Any:
    return da.from_array(X, chunks=(tuple(sizes), *X.shape[1:]))


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    return {
        "sizes": draw(st.lists(st.sampled_from([0, 1, 2, 7, 40, 300]), min_size=1, max_size=6)),
        "form": draw(st.sampled_from(["dense", "float32", "integers", "sparse", "frame"])),
        "labels": draw(st.sampled_from(sorted(LABELS))),
        "scale": draw(st.sampled_from(["none", "minmax", "standard", "unit"])),
        "stored_sparse": draw(st.sampled_from([None, True, False])),
        "known": draw(st.booleans()),
        "seed": draw(st.integers(0, 99)),
    }


@inputs(6)
def test_any_partitions_become_the_data_set_of_one_table(count: int, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    def check(case: dict[str, Any]) -> None:
        sizes, seed, form = [*case["sizes"], 20], case["seed"], case["form"]
        n = sum(sizes)
        X = rows_of(n, 5, seed, dense=form != "sparse")
        y = labels_of(n, case["labels"], seed)
        words = {"scale": case["scale"], "sparse": case["stored_sparse"], "chunk_rows": 64}
        if form == "frame":
            frame = pd.DataFrame(X, columns=list("abcde"))
            frame["class"] = y
            parts = np.split(np.arange(n), np.cumsum(sizes)[:-1])
            delayed = [dask.delayed(frame.iloc[part]) for part in parts]
            collection = dd.from_delayed(delayed, meta=frame.iloc[:0])
            check_same(frame, collection, tmp_path, **words)
            return
        X = {"float32": np.float32, "integers": int}.get(form, float)(1) * X
        X = X.round().astype(int) if form == "integers" else X
        rows, labels = in_chunks(X, sizes), in_chunks(y, sizes)
        if form == "sparse":
            X, rows = sparse.csr_array(X), rows.map_blocks(sparse.csr_array)
        if not case["known"]:
            rows, labels = (
                da.Array(
                    one.dask, one.name, ((np.nan,) * len(sizes), *one.chunks[1:]), meta=one._meta
                )
                for one in (rows, labels)
            )
        check_same((X, y), (rows, labels), tmp_path, **words)

    fuzz(check, cases(), count)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_chunks_of_every_array_may_span_partitions(form: str, tmp_path: Path) -> None:
    n = 70_000  # more rows than a chunk of codes has, more values than one of CSR parts
    X, y = rows_of(n, 6, 1).astype(np.float32), labels_of(n, "integers", 1)
    sizes = [20_000, 1, 0, 29_999, 15_000, 5_000]
    rows: Any = in_chunks(X, sizes)
    if form == "sparse":
        X, rows = sparse.csr_array(X), rows.map_blocks(sparse.csr_array)
    check_same((X, y), (rows, in_chunks(y, sizes)), tmp_path, chunk_rows=8192)
    _, files = taken(tmp_path / "other.zarr")
    rows_in = ("data", "indices", "indptr") if form == "sparse" else ("X",)
    for name in ("codes", "hashes", *(f"rows/{one}" for one in rows_in)):
        assert sum(key.startswith(f"train/{name}/c/") for key in files) > 1, name


def test_means_are_those_of_the_blocks_of_one_table(tmp_path: Path) -> None:
    """Sums of other blocks would differ in their last digits."""
    n = 60_000  # 12 MB in two blocks
    X, y = rows_of(n, 50, 2), labels_of(n, "words", 2)
    sizes = [7_000, 13_000, 25_000, 15_000]
    rows, labels = in_chunks(X, sizes), in_chunks(y, sizes)
    check_same((X, y), (rows, labels), tmp_path, scale="standard")
    unknown = rows[da.ones(n, chunks=(tuple(sizes),)) > 0]
    check_same((X, y), (unknown, labels), tmp_path, scale="standard")


def test_labels_and_columns_in_other_chunks(tmp_path: Path) -> None:
    X, y = rows_of(500, 6, 3), labels_of(500, "words", 3)
    rows, labels = da.from_array(X, chunks=(120, 4)), da.from_array(y, chunks=77)
    check_same((X, y), (rows, labels), tmp_path)
    every = da.ones(500, chunks=120) > 0
    check_same((X, y), (rows.rechunk((120, 6))[every], labels), tmp_path)  # of unknown sizes
    check_same((X, y), (rows, labels.rechunk(120)[every]), tmp_path)


@pytest.mark.parametrize("dtype", [None, "category", "string"])
def test_an_array_has_its_labels_in_a_series(dtype: Any, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    X, series = rows_of(300, 4, 5), pd.Series(labels_of(300, "words", 5), dtype=dtype, name="out")
    labels = dd.from_pandas(series, npartitions=3)
    check_same((X, series), (da.from_array(X, chunks=(100, 2)), labels), tmp_path)


def test_frames_with_labels_beside_drop_and_a_test_part(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    frame = pd.DataFrame(rows_of(300, 4, 4), columns=["a", "b", "c", "d"])
    frame["no"] = np.arange(300)
    y = pd.Series(pd.Categorical(labels_of(300, "words", 4)), name="outcome")
    parted, labels = (dd.from_pandas(one, npartitions=3) for one in (frame, y))
    check_same((frame, y), (parted, labels), tmp_path, drop=["no"])
    frame["outcome"] = y
    parted = dd.from_pandas(frame, npartitions=4)
    check_same(frame, parted, tmp_path, label="outcome", drop=["no"], positive=["left"])
    later = frame.iloc[:50, ::-1]
    test = dd.from_pandas(later, npartitions=2)
    words = {"label": "outcome", "drop": ["no"], "scale": "standard"}
    for one, other in ((later, test), (test, later)):
        check_same(frame, parted, tmp_path, test=one, **words)
        check_same(frame, frame, tmp_path, test=other, **words)


@pytest.mark.parametrize(
    ("task", "kind"), [("regression", "real"), long("quantile", "weighted"), long("one-class", "")]
)
def test_targets_signs_and_weights_are_those_of_one_table(
    task: str, kind: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=90) if kind else np.where(rng.random(90) < 0.3, -1, 1)
    words: dict[str, Any] = {"task": task, "weights": rng.random(90) + 0.5 if kind else None}
    parts = in_chunks(X, SIZES), da.from_array(z, chunks=37)
    if kind != "weighted":
        check_same((X, z), parts, tmp_path, **words)
        return
    check_same((X, z), parts, tmp_path, test=parts, scale="standard", **words)
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    frame = pd.DataFrame(X, columns=list("abcd")).assign(price=z)
    check_same(frame, dd.from_pandas(frame, npartitions=3), tmp_path, label="price", **words)


@pytest.mark.long
def test_rows_of_a_one_class_svm_need_no_labels(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    rows, frame = in_chunks(X, SIZES), pd.DataFrame(X, columns=list("abcd"))
    parted = dd.from_pandas(frame, npartitions=3)
    words: dict[str, Any] = {"task": "one-class"}
    check_same(X, rows, tmp_path, **words)
    check_same((X, None), (rows, None), tmp_path, **words)
    check_same(frame, parted, tmp_path, label="none", **words)


@pytest.mark.long
@pytest.mark.parametrize(
    ("y", "words", "says"),
    [
        (np.where(np.arange(90) == 71, np.nan, 1.0), {}, "partition 3 .*: row 21 .* has no target"),
        (np.where(np.arange(90) == 9, "x", "1"), {}, "partition 0 .*: row 9 .* the target 'x'"),
        (np.arange(90.0), {"weights": np.ones(89)}, "89 weights, but .* has 90 rows"),
        (np.arange(90) % 3, {"task": "one-class"}, r"row \d+ .* has the label \d; labels"),
    ],
)
def test_targets_that_cannot_be_are_one_sentence(
    y: np.ndarray, words: Any, says: str, tmp_path: Path
) -> None:
    parts = in_chunks(X, SIZES), in_chunks(y, SIZES)
    with pytest.raises(InputError, match=says):
        api.ingest(parts, tmp_path / "data.zarr", **{"task": "regression", **words})
    assert not list(tmp_path.iterdir())


X, Y = rows_of(90, 4, 5), labels_of(90, "words", 5)
SIZES = [30, 0, 20, 40]


def spoiled(k: int, what: Any) -> np.ndarray:
    found = X.copy()
    found[k, 2] = what
    return found


@pytest.mark.parametrize(
    ("rows", "labels", "says"),
    [
        (spoiled(60, np.nan), Y, r"partition 3 .*: row 10, column 2 .* is NaN"),
        (spoiled(31, np.inf), Y, r"partition 2 .*: row 1, column 2 .* is infinite"),
        (X, np.where(np.arange(90) == 29, "", Y), r"partition 0 .*: row 29 .* has no label"),
        (X, Y[:-1], r"90 rows, but labels of shape \(89,\)"),
        (X, np.full(90, "one"), r"every row has the label 'one'"),
        (X, np.arange(90), "the labels cannot be classes: 90 or more"),
        (X, np.column_stack([Y, Y]), "y must have 1 axis, got 2"),
        (X[:, :, None], Y, "an array of 3 axes"),
        (X.astype(object), Y, "must be real numbers, got type object"),
        (X + 1j, Y, "must be real numbers, got type complex128"),
        (X[:, :0], Y, "empty: 90 rows, 0 features"),
        (X[:0], Y[:0], "empty: 0 rows"),
        (
            np.ma.masked_array(X, X > 9),
            Y,
            r"n \d .*: row \d+, column \d .* is masked; fill",
        ),
        (X, np.ma.masked_array(Y, np.arange(90) == 51), r"3 .*: labels: row 1 .* is masked; fill"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_cannot_be_taken_in_is_one_sentence(
    rows: np.ndarray, labels: np.ndarray, says: str, tmp_path: Path
) -> None:
    sizes = tuple(SIZES) if len(rows) else (0,)
    parts = da.from_array(rows, chunks=(sizes, *rows.shape[1:]))
    of_labels = da.from_array(labels, chunks=(max(1, len(labels)), *labels.shape[1:]))
    with pytest.raises(InputError, match=says):
        api.ingest((parts, of_labels), tmp_path / "data.zarr")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        {"test_fraction": 0.2},
        {"shuffle": True},
        {"rows": (0, 9)},
        {"weights": np.arange(90)},
    ],
)
def test_what_is_not_possible_with_partitions_is_refused(words: Any, tmp_path: Path) -> None:
    parts = in_chunks(X, SIZES), in_chunks(Y, SIZES)
    with pytest.raises(InputError, match="cannot be used with Dask collections; select the rows"):
        api.ingest(parts, tmp_path / "data.zarr", **words)
    assert not list(tmp_path.iterdir())


def test_columns_of_a_frame_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["class"], frame["word"] = Y, "x"
    parted = dd.from_pandas(frame, npartitions=2)
    for words, says in (
        ({"label": "outcome"}, r"no column 'outcome'; there are: a, b, c, d, class, word"),
        ({"label": "class"}, r"the column 'word' must be numeric, got \w+"),
        ({"label": "class", "drop": ["no"]}, "no column 'no' to drop"),
        ({}, "the label may be 'word', the last column, or 'class'"),
    ):
        with pytest.raises(InputError, match=says):
            api.ingest(parted, tmp_path / "data.zarr", **words)
    gaps = frame.drop(columns="word")
    gaps.loc[70, "class"] = None
    with pytest.raises(InputError, match=r"partition 1 .*: row 25 .* has no label"):
        api.ingest(dd.from_pandas(gaps, npartitions=2), tmp_path / "data.zarr")
    assert not list(tmp_path.iterdir())


def changed(change: Any) -> Any:
    """Return a change of rows of which one partition becomes something else."""

    def one(block: Any) -> Any:
        return change(block) if len(block) == 20 else block

    return lambda X, y: (X.map_blocks(one, meta=X._meta), y)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda X, y: (X, Y), r"y is a numpy\.ndarray; give X and y both as Dask"),
        (lambda X, y: (X.to_delayed()[0, 0], y), r"X is a dask\.delayed\.Delayed"),
        (lambda X, y: X, "a Dask array has no names and no label"),
        (lambda X, y: (X, y[y != "left"][y[y != "left"] != ""]), "rows, but labels of shape"),
        (changed(sparse.csr_array), "partition 2 .*: is sparse, but its metadata say dense"),
        (changed(np.ndarray.tolist), r"partition 2 .*: is a builtins\.list"),
        (changed(lambda block: block[1:]), "partition 2 .*: 19 rows, but"),
        (changed(lambda block: block[:, 1:]), "partition 2 .*: 3 features, but its metadata say 4"),
    ],
)
def test_collections_that_do_not_fit_are_one_sentence(
    change: Any, says: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=says):
        api.ingest(change(in_chunks(X, SIZES), in_chunks(Y, SIZES)), tmp_path / "data.zarr")
    assert not list(tmp_path.iterdir())
