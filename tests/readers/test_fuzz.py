"""Whatever bytes a file holds: its rows come out well formed, or one sentence that names it."""

from __future__ import annotations

import io
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.preparing.source import PreparedSource
from tests.marks import soak
from tests.readers.fuzzing import KINDS, PACKERS, Draws, npy, read
from tests.strategies import damaged, damaged_json, fuzz, inputs, noise


@pytest.fixture(scope="session")
def table() -> bytes:
    """Give the demo's first rows: names, 54 features and a label in words of digits."""
    packed = (resources.files("dcsvm_dask.demo") / "covtype.csv.xz").read_bytes()
    return b"".join(lzma.decompress(packed).splitlines(keepends=True)[:25])


@pytest.fixture(scope="session")
def pairs(shared_data: Any) -> bytes:
    """Give rows of heart_scale as svmlight text."""
    archive = shared_data("heart_scale")
    text = io.BytesIO()
    dump_svmlight_file(archive["X_train"][:25], archive["y_train"][:25], text, zero_based=False)
    return text.getvalue()


def check_files(path: Path, **options: Any) -> Callable[[bytes], None]:
    def check(content: bytes) -> None:
        path.write_bytes(content)
        read(path, **options)

    return check


@inputs(300)
def test_svmlight(count: int, pairs: bytes, tmp_path: Path) -> None:
    """Also: what scikit-learn reads, too, it reads alike."""
    path = tmp_path / "rows.svm"

    def check(content: bytes) -> None:
        path.write_bytes(content)
        mine = read(path)
        try:
            theirs = load_svmlight_file(io.BytesIO(content), zero_based=False)
        except (ValueError, OverflowError, IndexError, UnicodeDecodeError):
            return
        if mine is None:
            return
        rows, labels = mine
        if b"\0" in content:  # scikit-learn ends a line there
            return
        np.testing.assert_array_equal(labels, theirs[1])
        theirs = theirs[0]
        theirs.eliminate_zeros()
        np.testing.assert_array_equal(rows.data, theirs.data)
        np.testing.assert_array_equal(rows.indices, theirs.indices + 1)
        np.testing.assert_array_equal(rows.indptr, theirs.indptr)

    fuzz(check, st.one_of(damaged(pairs), noise()), count)


@pytest.mark.long
@inputs(300)
def test_rows_that_were_not_hit_are_as_they_were(
    count: int, pairs: bytes, table: bytes, tmp_path: Path
) -> None:
    for name, content in (("rows.svm", pairs), ("rows.csv", table)):
        path = tmp_path / name
        path.write_bytes(content)
        whole = read(path)
        assert whole is not None
        first = content.index(b"\n") + 1 if name == "rows.csv" else 0
        lines = content[first:].splitlines(keepends=True)

        def check(hit: tuple[int, bytes]) -> None:
            k = hit[0] % len(lines)  # noqa: B023
            path.write_bytes(  # noqa: B023
                content[:first] + b"".join([*lines[:k], hit[1] + b"\n", *lines[k + 1 :]])  # noqa: B023
            )
            found = read(path)  # noqa: B023
            if found is None:
                return
            for mine, theirs in zip(found, whole, strict=True):  # noqa: B023
                mine = mine.toarray() if sparse.issparse(mine) else mine
                theirs = theirs.toarray() if sparse.issparse(theirs) else theirs
                width = mine.shape[1:] and min(mine.shape[1], theirs.shape[1])
                width = slice(width or None)
                if mine.ndim == 1:
                    mine, theirs = mine.astype(str), theirs.astype(str)
                    np.testing.assert_array_equal(mine[:k], theirs[:k])
                    if k + 1 < len(lines):  # noqa: B023
                        np.testing.assert_array_equal(mine[k - len(lines) + 1 :], theirs[k + 1 :])  # noqa: B023
                    continue
                np.testing.assert_array_equal(mine[:k, width], theirs[:k, width])
                if k + 1 < len(lines):  # noqa: B023
                    rest = mine[k - len(lines) + 1 :]  # noqa: B023
                    np.testing.assert_array_equal(rest[:, width], theirs[k + 1 :, width])

        line = damaged(lines[0].rstrip()).filter(lambda text: not set(text) & set(b"\n\r"))
        fuzz(check, st.tuples(st.integers(0, 10**6), line), count // 2)


@pytest.mark.one_quick
@inputs(120)
@pytest.mark.parametrize("name", ["rows.csv", "rows.txt"])
def test_tables(count: int, name: str, table: bytes, tmp_path: Path) -> None:
    quoted = b"\n".join(
        b",".join(b'"%s"' % cell for cell in line.split(b",")) for line in table.split()
    )
    blanks = table.replace(b",", b" ").split(b"\n", 1)[1]
    files = st.one_of(damaged(table), damaged(quoted), damaged(blanks), noise())
    path = tmp_path / name

    def check(content: bytes) -> None:
        path.write_bytes(content)
        found = read(path)
        if found is None or sparse.issparse(found[0]):
            return
        lines = sum(bool(line.strip(b" \t\r")) for line in content.split(b"\n"))
        source = open_source(str(path))
        if isinstance(source, PreparedSource):  # of which comments and cells may take lines
            assert 0 < found[0].shape[0] <= lines
            return
        names = source.feature_names
        assert found[0].shape[0] == lines - (names is not None)

    known = [b"#", b"#\n1,2\n3,4\n", b"\x0c\na,b\n1,2\n3,4\n", b"a\x1cb,c\n1,2\n"]
    fuzz(check, files, count, known)


@pytest.mark.one_quick
@inputs(60)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le", "cp1252", "utf-8-sig", "cp037"])
def test_tables_in_other_encodings(count: int, encoding: str, tmp_path: Path) -> None:
    text = "größe,länge,klasse\n" + "1.5,2,ä\n3,-4e2,ö\n" * 5
    check = check_files(tmp_path / "rows.csv")
    fuzz(check, damaged(text.encode(encoding)), count, [text.encode(encoding)])


@inputs(100)
@pytest.mark.parametrize("ending", PACKERS)
def test_packed_files(count: int, ending: str, table: bytes, tmp_path: Path) -> None:
    packed = PACKERS[ending](table)
    cuts = st.integers(0, len(packed)).map(lambda size: packed[:size])
    two = st.just(packed + packed)
    files = st.one_of(
        damaged(packed), cuts, two, st.binary(max_size=50).map(lambda b: packed[:6] + b)
    )
    fuzz(check_files(tmp_path / f"rows.csv{ending}"), files, count)


def headed(text: str, version: int = 1, size: int | None = None) -> bytes:
    """Return a .npy file with a header of one's own and some numbers."""
    head = text.encode("latin-1", "replace") + b"\n"
    length = len(head) if size is None else size
    packed = struct.pack(
        "<H" if version == 1 else "<I", length % (1 << (16 if version == 1 else 32))
    )
    return b"\x93NUMPY" + bytes([version, 0]) + packed + head + bytes(range(96))


TYPES = "'<f8' '>f4' '|O' '|b1' '<c16' '<U3' '<U0' '|V8' 'M8[s]' 'f8' '<f99' '<i1,<f8' 'S0' ''"
SHAPES = (
    *(
        "(3, 4)",
        "(2, 6)",
        "(12,)",
        "()",
        "(0, 4)",
        "(-3, 4)",
        "(3, -4)",
        "(1, 10**12)",
        "(True, 3)",
    ),
    *("(1, 1000000000000)", "(99999999999999999999, 1)", "(2, 0)", "[3, 4]", "3", "(3.0, 4)"),
    *("(9000000000000000000, 9000000000000000000)", "(3, 2, 2)", "(1L, 2)", "(None, 4)"),
)
HEADERS = st.builds(
    lambda descr, fortran, shape, tail: (
        f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}{tail}"
    ),
    st.sampled_from([*TYPES.split(), "[('a', '<f8')]", "[]", "('<f4', (2,))", "None", "3"]),
    st.sampled_from(["False", "True", "1", "None", "'False'"]),
    st.sampled_from(SHAPES),
    st.sampled_from(["}", ", }", ", 'x': 1}", "", ", []: 2}", "}}", ", 'y': (((((((}", "}  #"]),
)


@inputs(300)
@pytest.mark.filterwarnings("ignore:Reading `.npy:UserWarning")  # of Python 2
def test_numpy_files(count: int, tmp_path: Path) -> None:
    content = npy(np.arange(40.0).reshape(10, 4) % 3)
    fortran = npy(np.asfortranarray(np.arange(40.0).reshape(10, 4) % 3))
    known = [
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1000000000000), }"),
        headed("{'descr': '<f8', 'fortran_order': True, 'shape': (9, 1000000000000), }"),
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 4), }"),
        headed("{'descr': '<f8', 'fortran_order': True, 'shape': (True, 3)}"),
        headed("{'descr': '<f8'", 2, 2**32 - 1),
        headed("-" * 9000 + "1"),
        headed("(" * 9000),
        headed("{'descr"),
        headed("{[]: 1}"),
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': (1L, 2)}"),
        npy(np.array([[{}, []]], dtype=object)),
    ]
    files = st.one_of(
        damaged(content),
        damaged(fortran),
        HEADERS.map(headed),
        HEADERS.map(lambda text: headed(text, 2)),
        st.text(max_size=60).map(headed),
    )
    fuzz(check_files(tmp_path / "rows.npy"), files, count, known)


@inputs(250)
def test_numpy_archives(count: int, tmp_path: Path) -> None:
    X = sparse.random_array((12, 5), density=0.4, format="csr", rng=np.random.default_rng(0))
    parts = {f"X_{n}": getattr(X, n) for n in ("data", "indices", "indptr")}
    labels = {"y": np.arange(12) % 2, "X_shape": np.array(X.shape)}
    dense = {"X": X.toarray(), "y": np.array(["a", "b"] * 6), "X_test": X.toarray()[:3]}
    archives, known = [], []
    for arrays in (dense, {**parts, **labels}):
        file = io.BytesIO()
        np.savez(file, **arrays)
        content = file.getvalue()
        archives.append(damaged(content))
        known.append(content[:22] + b"1e-999" + content[28:])  # a name of thousands of bytes
    others = st.sampled_from(
        (
            *(np.array([3, -1]), np.array([10**12, 5]), np.array([12, 10**12]), np.array([0.5, 2])),
            *(np.zeros((2, 2)), np.array(["a"] * 12), np.array([], int), np.array(3)),
            *(np.full(12, np.nan), np.full(13, 2**62), np.arange(13), np.zeros(12, "U0")),
            *(np.arange(13, dtype=np.uint64) << np.uint64(60), np.zeros(12, "V4")),
            *(np.array([{}], object), np.array([12, 5], object)),
        )
    )
    check = check_files(tmp_path / "rows.npz")

    def check_exchanged(change: tuple[str, Any]) -> None:
        file = io.BytesIO()
        np.savez(file, **{**parts, **labels, change[0]: change[1]})
        check(file.getvalue())

    fuzz(check, st.one_of(archives), count, known)
    for value in (np.array([12, 10**12]), np.full(12, "")):
        check_exchanged(("X_shape" if value.size == 2 else "y", value))
    fuzz(check_exchanged, st.tuples(st.sampled_from([*parts, *labels]), others), count // 2)


@inputs(100)
def test_parquet_files(count: int, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"a": np.arange(20.0), "b": np.arange(20) % 3, "y": ["u", "v"] * 10}
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    fuzz(check_files(tmp_path / "rows.parquet"), damaged(file.getvalue()), count)


@pytest.mark.one_quick
@inputs(120)
@pytest.mark.parametrize("version", [2, 3])
def test_zarr_groups(count: int, version: int, tmp_path: Path) -> None:
    home = tmp_path / "rows.zarr"
    group = zarr.open_group(home, mode="w", zarr_format=version)
    for name, values in (("X", np.arange(40.0).reshape(10, 4)), ("y", np.arange(10) % 2)):
        group.create_array(name, data=values, chunks=(4, 4)[: values.ndim])
    names = (".zarray", ".zgroup") if version == 2 else ("zarr.json",)
    files = [path for name in names for path in sorted(home.rglob(name))]
    chunk = home / ("X/1.0" if version == 2 else "X/c/1/0")
    whole = {path: path.read_bytes() for path in [*files, chunk]}
    changes = st.one_of(
        [st.tuples(st.just(path), damaged_json(json.loads(whole[path]))) for path in files]
        + [st.tuples(st.just(chunk), damaged(whole[chunk]))]
    )

    def check(change: tuple[Path, bytes]) -> None:
        path, content = change
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Zarr's, on names that it does not know
                read(home)
        finally:
            path.write_bytes(whole[path])

    known = [
        (files[0], b"9" * 5000),
        (files[0], whole[files[0]].replace(b"10", b"10000000000000")),
        (files[1], whole[files[1]].replace(b"10", str(2**64).encode(), 1)),
        (files[-1], re.sub(rb"4\s*\]", b"0]", whole[files[-1]])),  # chunks of no rows
        (chunk, whole[chunk][:7] + bytes([whole[chunk][7] ^ 128]) + whole[chunk][8:]),
    ]
    fuzz(check, changes, count, known)


def test_labels_behind_a_codec_that_unpickles(tmp_path: Path) -> None:
    home = tmp_path / "rows.zarr"
    group = zarr.open_group(home, mode="w", zarr_format=2)
    group.create_array("X", data=np.eye(4))
    group.create_array("y", data=np.arange(4) % 2)
    about = json.loads((home / "y/.zarray").read_text())
    about |= {"dtype": "|O", "fill_value": "", "filters": [{"id": "vlen-utf8"}]}
    about["compressor"] = {"id": "pickle", "protocol": 5}
    (home / "y/.zarray").write_text(json.dumps(about))
    with pytest.raises(InputError, match="y: has pickled objects, which are not loaded"):
        open_source(home)


@pytest.mark.one_quick
@pytest.mark.parametrize("kind", ["datasets", "runs"])
def test_folders_that_were_changed_and_committed_again(kind: str, tmp_path: Path) -> None:
    changed = KINDS[kind][0](tmp_path)
    for number in range(100):
        changed.check(changed.make(Draws(kind, number)))


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="limits and reads the memory of a process")
@pytest.mark.parametrize(
    ("of_forty", "kinds"), [(1, [*KINDS]), *(soak(40, [kind], id=kind) for kind in KINDS)]
)
def test_a_hundred_thousand_inputs_in_two_gibibytes(
    of_forty: int, kinds: list[str], tmp_path: Path
) -> None:
    """100,000 inputs of all kinds together: a reader takes no more memory than it may, and ends.

    Usually the first fortieth of them, by one process, with the least bound; all are some four
    minutes of one core, and half of them have the usual bound. The limit is one of address space,
    of which the process takes 0.9 GiB before it reads anything; Arrow's usual allocator would
    reserve another GiB and not use it. What fails is kept, with how to read it again.
    """
    counts = {kind: KINDS[kind][1] * of_forty // 40 for kind in kinds}
    words = {**os.environ, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
    words["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    halves = {kind: count // 2 if of_forty > 1 else 0 for kind, count in counts.items()}
    usual = {kind: range(half) for kind, half in halves.items()}
    least = {kind: range(halves[kind], count) for kind, count in counts.items()}
    for ranges, bound in ((usual, 1 << 30), (least, 256 << 20)):
        if not any(ranges.values()):
            continue
        home = tmp_path / str(bound)
        home.mkdir()
        words["DCSVM_MEMORY_BOUND"] = str(bound)
        given = [f"{kind}:{numbers.start}:{numbers.stop}" for kind, numbers in ranges.items()]
        command = [sys.executable, "-m", "tests.readers.fuzzing", *given]
        done = subprocess.run(
            [*command, str(home)], capture_output=True, text=True, env=words, timeout=600
        )
        last = (home / "number").read_text() if (home / "number").exists() else "none"
        again = f"{bound=}: input {last} lies in {home}; {' '.join(command)} {home}"
        assert done.returncode == 0, f"{again}\n{done.stderr[-8000:]}"
        found = json.loads(done.stdout.splitlines()[-1])
        for kind, numbers in ranges.items():
            one = found[kind]
            assert one["failed"] == 0, f"{again}\n{done.stderr[-8000:]}"
            assert one["read"] == len(numbers)
            assert one["grown"] <= bound, f"{again}: {kind} took {one['grown'] / 2**20:.0f} MiB"
        shutil.rmtree(home)


def test_kinds_of_inputs_make_a_hundred_thousand() -> None:
    assert sum(count for _, count in KINDS.values()) == 10**5
