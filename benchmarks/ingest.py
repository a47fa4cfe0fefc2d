"""Speed of reading text: Covertype as svmlight and as CSV, megabytes a second of a core.

    python -m benchmarks.ingest [--quick]

Writes all 581,012 rows (quick: 50,000) as text and ingests each file, scaled to [0, 1]: by the
command line, start-up included, and twice by the Python API, of which the second counts (compiled
code is loaded by then). Sizes are divided by the time that passed and by the processors' time:
parsing, hashing, packing and writing. The third file has a column of words, which becomes a feature
for each; the last figures are of parsing numbers alone, by our parser and by pyarrow's. Writes
``ingest.json``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import dcsvm_dask.api as dcsvm
from benchmarks.datasets import SHARED
from benchmarks.runs import Figures, write


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="50,000 rows")
    options.add_argument("--out", type=Path, default=Path("ingest.json"))
    chosen = options.parse_args()
    found = np.load(SHARED / "covtype.npz")
    rows = slice(50_000 if chosen.quick else None)
    X, y = found["X_train"][rows].astype(np.int64), found["y_train"][rows].astype(np.int64)
    forms = {"svmlight": svmlight, "csv": csv, "words.csv": words_csv}
    figures: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in forms.items():
            file = Path(folder) / f"covtype.{name}"
            with file.open("w") as out:
                for start in range(0, len(y), 10_000):
                    part = slice(start, start + 10_000)
                    out.write("".join(map(text, y[part], X[part])))
            figures[name] = timed(file, Path(folder) / f"{name}.zarr")
        figures["parsers"] = parsers(Path(folder) / "covtype.csv")
    write(chosen.out, {"forms": figures})
    return 0


def svmlight(label: int, row: np.ndarray) -> str:
    """Return a row as LIBSVM's programs read it: no zeros."""
    return f"{label} " + " ".join(f"{j + 1}:{row[j]}" for j in np.flatnonzero(row)) + "\n"


def csv(label: int, row: np.ndarray) -> str:
    """Return a row as numbers and commas, the label last."""
    return ",".join(map(str, row)) + f",{label}\n"


def words_csv(label: int, row: np.ndarray) -> str:
    """Return a row with a column of words before the label."""
    return ",".join(map(str, row)) + f",area {row[0] % 7},{label}\n"


def parsers(file: Path) -> Figures:
    """Return megabytes a second of a core of parsing a file of numbers, by us and by pyarrow."""
    from pyarrow import csv as pa_csv

    from dcsvm_dask.readers.table import TableSource

    def ours() -> int:
        return sum(len(rows) for rows, _ in TableSource(str(file), header=False).blocks())

    def arrow() -> int:
        how = pa_csv.ReadOptions(
            use_threads=False, autogenerate_column_names=True, block_size=8 << 20
        )
        count = 0
        for batch in pa_csv.open_csv(str(file), how):
            rows = np.empty((batch.num_rows, batch.num_columns), np.float32)
            for k, column in enumerate(batch.columns):
                rows[:, k] = column.to_numpy(zero_copy_only=False)
            count += len(rows)
        return count

    found: Figures = {}
    for name, parse in (("ours", ours), ("pyarrow", arrow)):
        parse()
        begin = time.process_time()
        parse()
        found[name] = file.stat().st_size / 1e6 / (time.process_time() - begin)
    print(
        f"parsing numbers: ours {found['ours']:.0f}, pyarrow {found['pyarrow']:.0f} MB/s of a core"
    )
    return found


def timed(file: Path, out: Path) -> Figures:
    """Ingest a file; return its size and the times, and print them."""
    program = str(Path(sys.executable).with_name("dcsvm"))
    words = ["--scale", "minmax", "--quiet"]
    how: dict[str, Any] = {"scale": "minmax", "overwrite": True}
    if "words" in file.name:
        words += ["--one-hot", "auto"]
        how["one_hot"] = "auto"
    if file.suffix == ".csv":
        words.append("--no-header")
        how["header"] = False
    begin = time.perf_counter()
    subprocess.run([program, "ingest", str(file), "--out", str(out), *words], check=True)
    command = time.perf_counter() - begin
    for _ in range(2):
        begin, busy = time.perf_counter(), time.process_time()
        dcsvm.ingest(str(file), out, **how)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - busy
    size = file.stat().st_size / 1e6
    print(
        f"{file.name.removeprefix('covtype.'):<9} {size:4.0f} MB: the command {command:.1f} s; "
        f"warm {seconds:.2f} s, "
        f"{size / seconds:4.0f} MB/s, {size / cpu:4.0f} MB/s of a core"
    )
    return {"megabytes": size, "command": command, "seconds": seconds, "cpu_seconds": cpu}


if __name__ == "__main__":
    sys.exit(main())
