"""Readers under a limit of memory: a process that reads many damaged and made-up files.

``python -m tests.readers.fuzzing KIND:FIRST:STOP ... FOLDER`` reads the inputs of these numbers and
prints what came of each kind as one JSON object. An input follows from its kind and number alone.
"""

from __future__ import annotations

import bz2
import faulthandler
import gzip
import io
import json
import lzma
import re
import resource
import shutil
import signal
import struct
import sys
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmError, InputError
from dcsvm_dask.readers.labels import LabelTable
from dcsvm_dask.readers.open import open_source, source_parts
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.runtime.compilation import use_own_cache
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import SEAL, seal
from tests.strategies import (
    CHANGES,
    ODD_BYTES,
    ODD_JSON,
    apply_changes,
    check_message,
    places_in,
    replaced,
)

ADDRESS_SPACE = 2 << 30
SECONDS = 30
"""For one input."""
HERE = api.Execution(workers=0)

NUMBERS = (0, 1, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
BIG = (
    *(struct.pack("<I", n % 2**32) for n in NUMBERS),
    *(struct.pack("<Q", n) for n in NUMBERS),
    b"\xff\xff\xff\xff\x07",  # as Thrift writes 2^31 - 1
    b"\xfe\xff\xff\xff\x0f",
)
DIGITS = (
    *(b"0", b"-1", b"3", b"99999", b"10000000", b"300000000", b"2147483647", b"4294967296"),
    *(b"1000000000000", b"9223372036854775807", b"1e20", b"1" * 30, b"0.5"),
)

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, 1, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
}


def read(path: Path, **options: Any) -> tuple[Any, Any] | None:
    """Read a file whole and check what came out; None if it was refused with its name."""
    try:
        found = []
        for part in source_parts(str(path)):
            source = open_source(path, part=part, **options)
            labels = LabelTable(source.name)
            for rows, values in source.blocks():
                assert rows.dtype in (np.float32, np.float64)
                assert np.isfinite(rows.data if sparse.issparse(rows) else rows).all()
                if sparse.issparse(rows):
                    rows.check_format()
                    assert rows.has_canonical_format
                if values is not None:
                    assert values.shape == rows.shape[:1]
                    codes = labels.add(values)
                    assert codes.size == 0 or 0 <= codes.min() <= codes.max() < len(labels.labels)
                found.append((rows, values))
        return found[0] if len(found) == 1 else None
    except InputError as error:
        check_message(error, str(path))
        return None


class Draws:
    """Random choices that follow from a kind and a number."""

    def __init__(self, kind: str, number: int) -> None:
        self.random = np.random.default_rng([zlib.crc32(kind.encode()), number])

    def one(self, options: Any) -> Any:
        return options[int(self.random.integers(len(options)))]

    def below(self, stop: int) -> int:
        return int(self.random.integers(stop))

    def damaged(self, content: bytes, odd: Any = ODD_BYTES) -> bytes:
        """Return content with up to three changes, or other numbers in the place of some."""
        for _ in range(1 + self.below(3)):
            if self.below(3) == 0:
                runs = [m.span() for m in re.finditer(rb"\d+", content[:20_000])]
                if runs:
                    a, b = self.one(runs)
                    content = content[:a] + self.one(DIGITS) + content[b:]
                continue
            two = self.below(41) if self.below(2) else self.below(2**20)
            change = (self.one(CHANGES), self.below(2**20), two, self.one(odd))
            content = apply_changes(content, [change])
        return content

    def damaged_json(self, value: Any) -> bytes:
        places = list(places_in(value))
        if self.below(4) == 0 or not places:
            return self.damaged(json.dumps(value, indent=1).encode())
        kinds = ("put", "put", "put", "drop", "add")
        changes = [(self.one(places), self.one(kinds)) for _ in range(1 + self.below(2))]
        return replaced(value, changes, self.one((*ODD_JSON, *NUMBERS, 10**8, 3 * 10**8)))


class Fuzz:
    """Makes the input of a number, and reads it; a class for each kind of file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prepare()

    def prepare(self) -> None:
        """Make whole files."""

    def make(self, draws: Draws) -> Path:
        """Write an input and return its path."""
        raise NotImplementedError

    def check(self, path: Path) -> None:
        """Read it; only an InputError may be raised, and none that does not name it."""
        read(path)

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path


class Svmlight(Fuzz):
    WHOLE = (
        b"+1 1:0.708333 3:-0.320755 4:-0.105023 13:-1\n-1 1:0.583333 2:-1 # note\n"
        b"+1 1:0.166667 4:-0.433962 8:-0.603053\n-1 qid:3 2:1 5:1e-3\n" * 2
    )
    NAMES: tuple[str, ...] = ("rows.svm", "rows.txt")

    def make(self, draws: Draws) -> Path:
        name = draws.one(self.NAMES)
        if draws.below(5) == 0:
            words = [*ODD_BYTES, *DIGITS, b" ", b"1:", b"\n", b"1:0.5 ", b"1 2147483646:"]
            return self.write(name, b"".join(draws.one(words) for _ in range(draws.below(30))))
        content = draws.damaged(self.WHOLE)
        if draws.below(100) == 0:  # many lines
            content = content * draws.below(3000)
        if draws.below(8):
            return self.write(name, content)
        ending = draws.one(tuple(PACKERS))
        packed = PACKERS[ending](content)
        return self.write(f"{name}{ending}", draws.damaged(packed) if draws.below(2) else packed)

    def check(self, path: Path) -> None:
        read(path)
        try:
            source = open_source(path)
            statistics = ScalingStatistics("minmax", source.name)
            for rows, _ in source.blocks():
                statistics.update(rows)
            statistics.finish(rows.shape[1], source.is_sparse)
        except InputError as error:
            check_message(error, str(path))


class Tables(Svmlight):
    WHOLE = (
        b'elevation,aspect,"slope, of it",pine\n2596,51,3,yes\n2590,56.5,2,no\n2804,139,-9e0,"no"\n'
        b"2785,155,18,yes\n2595,45,2,1\n" + b"2579,132,6,2\n" * 4
    )
    NAMES = ("rows.csv", "rows.tsv", "rows.txt")


class WeightFiles(Svmlight):
    WHOLE = b"1\n0.5\n0\n2e3\n1\n" * 3 + b"\n\n"
    NAMES = ("weights",)

    def check(self, path: Path) -> None:
        try:
            assert (Weights.of(path).values >= 0).all()
        except InputError as error:
            check_message(error, str(path))


def npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


TYPES = ("<f8", ">f4", "|O", "|b1", "<c16", "<U3", "<U99999999", "|V8", "M8[s]", "<f99", "|u1")
SIZES = (0, 1, 3, 12, 10**5, 10**7, 10**8, 4 * 10**8, 10**12, 2**63, 2**64, -3)


class NumpyFiles(Fuzz):
    def prepare(self) -> None:
        table = np.arange(40.0).reshape(10, 4) % 3
        self.whole = [npy(table), npy(np.asfortranarray(table)), npy(table.astype("i1"))]

    def make(self, draws: Draws) -> Path:
        return self.write("rows.npy", self.array(draws, self.whole))

    def array(self, draws: Draws, whole: list[bytes]) -> bytes:
        if draws.below(3):
            return draws.damaged(draws.one(whole), (*ODD_BYTES, *BIG))
        shape = tuple(draws.one(SIZES) for _ in range(draws.below(4)))
        order = draws.one(("False", "True"))
        head = f"{{'descr': '{draws.one(TYPES)}', 'fortran_order': {order}, 'shape': {shape}, }}"
        text = head.encode() + b"\n"
        if draws.below(5) == 0:
            text = draws.damaged(text)
        size = struct.pack("<H", len(text) % 2**16)
        return b"\x93NUMPY\x01\x00" + size + text + bytes(draws.one((0, 96, 10_000, 100_000)))


class Archives(NumpyFiles):
    def prepare(self) -> None:
        rng = np.random.default_rng(0)
        X = sparse.random_array((12, 5), density=0.4, format="csr", rng=rng)
        self.csr = {f"X_{n}": getattr(X, n) for n in ("data", "indices", "indptr")}
        self.csr |= {"y": np.arange(12) % 2, "X_shape": np.array(X.shape)}
        self.dense = {"X": X.toarray(), "y": np.array(["a", "b"] * 6), "X_test": X.toarray()[:3]}

    def make(self, draws: Draws) -> Path:
        import zipfile

        arrays = {name: npy(v) for name, v in draws.one((self.csr, self.dense)).items()}
        for _ in range(draws.below(3)):
            name = draws.one(tuple(arrays))
            arrays[name] = self.array(draws, list(arrays.values()))
        file = io.BytesIO()
        packings = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED)
        packing = zipfile.ZIP_BZIP2 if draws.below(20) == 0 else draws.one(packings)
        with zipfile.ZipFile(file, "w", packing) as archive:
            for name, content in arrays.items():
                many = b"\0" * 30_000_000 if draws.below(300) == 0 else b""
                archive.writestr(f"{name}.npy", content + many)
        content = file.getvalue()
        if draws.below(2):
            content = draws.damaged(content, (*ODD_BYTES, *BIG))
        return self.write("rows.npz", content)


class ParquetFiles(Fuzz):
    def prepare(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        columns = {"a": np.arange(20.0), "b": np.arange(20) % 3, "y": ["u", "v"] * 10}
        table = pa.table(columns)
        coded = table.set_column(2, "y", table["y"].dictionary_encode())
        self.whole = []
        for one, options in (
            (table, {}),
            (table, {"use_dictionary": False, "compression": "gzip", "row_group_size": 6}),
            (coded, {"compression": "zstd", "data_page_version": "2.0"}),
            (table.select(["a", "b"]), {"compression": "none", "write_page_index": True}),
        ):
            file = io.BytesIO()
            parquet.write_table(one, file, **options)
            self.whole.append(file.getvalue())

    def make(self, draws: Draws) -> Path:
        return self.write("rows.parquet", draws.damaged(draws.one(self.whole), (*ODD_BYTES, *BIG)))


class Folders(Fuzz):
    """Folders of which a file is changed; the input is the folder."""

    NAME = "rows.zarr"
    PATTERNS: tuple[str, ...] = ("*",)

    def prepare(self) -> None:
        self.home = self.folder / self.NAME
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.build(self.home)
        files = {p for pattern in self.PATTERNS for p in self.home.rglob(pattern) if p.is_file()}
        self.whole = {path: path.read_bytes() for path in sorted(files)}
        self.changed: list[Path] = []

    def build(self, home: Path) -> None:
        raise NotImplementedError

    def make(self, draws: Draws) -> Path:
        for path in self.changed:
            path.write_bytes(self.whole[path])
        path = draws.one(tuple(self.whole))
        self.changed = [path]
        path.write_bytes(self.content(draws, path))
        return self.home

    def content(self, draws: Draws, path: Path) -> bytes:
        whole = self.whole[path]
        if path.suffix == ".json" or path.name.startswith(".z"):
            value = json.loads(whole)
            if isinstance(value, dict) and SEAL in value:
                return self.sealed(draws, value)
            return draws.damaged_json(value)
        return draws.damaged(whole, (*ODD_BYTES, *BIG))

    def sealed(self, draws: Draws, value: Any) -> bytes:
        """Return a changed object with the checksum that it then has: its writer is hostile."""
        content = draws.damaged_json({k: v for k, v in value.items() if k != SEAL})
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            return content
        return json.dumps(seal(found)).encode() if isinstance(found, dict) else content


class ZarrGroups(Folders):
    VERSION: Any = 3

    def build(self, home: Path) -> None:
        group = zarr.open_group(home, mode="w", zarr_format=self.VERSION)
        X = np.arange(40.0).reshape(10, 4)
        group.create_array("X", data=X, chunks=(4, 4))
        group.create_array("y", data=np.arange(10) % 2, chunks=(4,))


class OldZarrGroups(ZarrGroups):
    VERSION = 2


def recommit(home: Path) -> list[Path]:
    """Commit what lies in a data set's folder, changed as it is; return the objects written."""
    commit = home / "dataset.json"
    try:
        value = json.loads(commit.read_bytes())
        attempt = home / value["attempt"]
        listed = attempt / "checksums.json"
        keys = json.loads(listed.read_bytes())
        for key in keys:
            data = (attempt / key).read_bytes()
            keys[key] = [len(data), zlib.crc32(data)]
        content = json.dumps(keys).encode()
        value["checksums"] = [len(content), zlib.crc32(content)]
        value.pop(SEAL, None)
        sealed = json.dumps(seal(value)).encode()
    except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError):
        return []  # it is changed too much
    listed.write_bytes(content)
    commit.write_bytes(sealed)
    return [listed, commit]


class DataSets(Folders):
    NAME = "d.zarr"

    def build(self, home: Path) -> None:
        X = np.arange(240.0).reshape(80, 3) % 7
        ingest((X, np.arange(80) % 2), home, scale="minmax", chunk_rows=40)

    def make(self, draws: Draws) -> Path:
        home = super().make(draws)
        if draws.below(4):
            self.changed += recommit(home)
        return home

    def check(self, path: Path) -> None:
        try:
            data = DataSet.open(path)
            data.rows.read(0, data.n_rows)
            data.read_codes(0, data.n_rows)
            data.read_hashes(0, data.n_rows)
            data.rows.take(np.arange(0, min(data.n_rows, 100), 3))
        except InputError as error:
            check_message(error, str(path))


class Runs(Folders):
    NAME = "run"
    MODEL = ("model/*", "model/*/*", "model/*/*/*")
    PATTERNS = ("preparation.json", "run.json", "model-*/commit.json", *MODEL)

    def build(self, home: Path) -> None:
        X = np.random.default_rng(0).normal(size=(60, 3))
        data = ingest((X, np.arange(60) % 2), self.folder / "d.zarr", scale="standard")
        api.train(data.place, home, quiet=True, execution=HERE, report=False)
        self.rows = X[:3]

    def make(self, draws: Draws) -> Path:
        home = super().make(draws)
        path = self.changed[0]
        if "model" in path.parts:  # whoever changes it commits it, too
            attempt = next(p for p in path.parents if p.parent.parent.name == "stages")
            commit = attempt.parent / f"{attempt.name.split('.')[0]}.json"
            value = json.loads(self.whole[commit])
            content = path.read_bytes()
            key = path.relative_to(attempt).as_posix()
            value["keys"][key] = [len(content), zlib.crc32(content)]
            value.pop(SEAL, None)
            commit.write_text(json.dumps(seal(value)))
            self.changed.append(commit)
        return home

    def check(self, path: Path) -> None:
        try:
            run = api.open_run(path)
            run.predict(self.rows, execution=HERE)
            run.export(self.folder / "model")
        except DcsvmError:  # of a stage as well, which names itself
            return


class Ingests(Tables):
    """A file of any kind, taken into a data set."""

    def prepare(self) -> None:
        kinds = (Svmlight, Tables, NumpyFiles, Archives, ParquetFiles)
        self.makers = [kind(self.folder) for kind in kinds]

    def make(self, draws: Draws) -> Path:
        self.scale = draws.one(("none", "minmax", "standard", "unit"))
        self.dense = draws.one((None, None, False))
        return draws.one(self.makers).make(draws)

    def check(self, path: Path) -> None:
        out = self.folder / "out.zarr"
        shutil.rmtree(out, ignore_errors=True)
        try:
            ingest(path, out, scale=self.scale, sparse=self.dense)
        except InputError:
            assert not out.exists()


KINDS: dict[str, tuple[type[Fuzz], int]] = {
    "svmlight": (Svmlight, 22_000),
    "tables": (Tables, 22_000),
    "weights": (WeightFiles, 10_000),
    "npy": (NumpyFiles, 18_000),
    "npz": (Archives, 10_000),
    "parquet": (ParquetFiles, 13_000),
    "zarr": (ZarrGroups, 2_000),
    "zarr2": (OldZarrGroups, 2_000),
    "datasets": (DataSets, 500),
    "runs": (Runs, 300),
    "ingests": (Ingests, 200),
}
"""Kind of input, and how many of it make a hundred thousand together."""


def peak() -> int:
    """Return the largest memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


@contextmanager
def limited_address_space() -> Iterator[None]:
    """Limit what is read; what makes the inputs, with copies of its own, is not limited."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def main(ranges: dict[str, range], folder: Path) -> None:
    """Read inputs of kinds by their numbers; print what came of them."""
    faulthandler.enable()
    warnings.simplefilter("ignore")  # Zarr's and NumPy's, on what they do not know
    kinds = {}
    for kind in ranges:
        (folder / kind).mkdir()
        kinds[kind] = fuzz = KINDS[kind][0](folder / kind)
        for number in (10**9, 10**9 + 1, 10**9 + 2):  # compiles, and imports what is used
            fuzz.check(fuzz.make(Draws(kind, number)))
    found = {kind: read_all(kind, kinds[kind], ranges[kind], folder) for kind in ranges}
    print(json.dumps(found))


def read_all(kind: str, fuzz: Fuzz, numbers: range, folder: Path) -> dict[str, int]:
    """Read inputs of a kind; return how many were read, how many failed, and the memory taken."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, failed, number = peak(), 0, numbers.start - 1
    for number in numbers:
        (folder / "number").write_text(f"{kind} {number}")
        path = fuzz.make(Draws(kind, number))
        signal.alarm(SECONDS)
        try:
            with limited_address_space():
                fuzz.check(path)
        except BaseException as error:  # noqa: BLE001 - that is what is looked for
            failed += 1
            kept = folder.parent / f"failed-{kind}-{number}"
            shutil.copytree(folder / kind, kept, dirs_exist_ok=True)
            print(
                f"{kind} {number} in {path}: {type(error).__name__}; kept: {kept}", file=sys.stderr
            )
            traceback.print_exc()
            if failed == 10:
                break
        finally:
            signal.alarm(0)
    return {"read": number + 1 - numbers.start, "failed": failed, "grown": peak() - before}


if __name__ == "__main__":
    use_own_cache()
    *words, home = sys.argv[1:]
    parts = (word.split(":") for word in words)
    main({kind: range(int(first), int(stop)) for kind, first, stop in parts}, Path(home))
