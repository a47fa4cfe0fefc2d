"""Speed of reading text: Covertype as svmlight and as CSV, megabytes a second of a core.

    python -m benchmarks.ingest [--quick]

Writes all 581,012 rows (quick: 50,000) as text and ingests each file, scaled to [0, 1]: by the
command line, start-up included, and twice by the Python API, of which the second counts (compiled
code is loaded by then). Sizes are divided by the time that passed and by the processors' time:
parsing, hashing, packing and writing. Writes ``ingest.json``.
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
    forms = {"svmlight": svmlight, "csv": csv}
    figures: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in forms.items():
            file = Path(folder) / f"covtype.{name}"
            with file.open("w") as out:
                for start in range(0, len(y), 10_000):
                    part = slice(start, start + 10_000)
                    out.write("".join(map(text, y[part], X[part])))
            figures[name] = timed(file, Path(folder) / f"{name}.zarr")
    write(chosen.out, {"forms": figures})
    return 0


def svmlight(label: int, row: np.ndarray) -> str:
    """Return a row as LIBSVM's programs read it: no zeros."""
    return f"{label} " + " ".join(f"{j + 1}:{row[j]}" for j in np.flatnonzero(row)) + "\n"


def csv(label: int, row: np.ndarray) -> str:
    """Return a row as numbers and commas, the label last."""
    return ",".join(map(str, row)) + f",{label}\n"


def timed(file: Path, out: Path) -> Figures:
    """Ingest a file; return its size and the times, and print them."""
    program = str(Path(sys.executable).with_name("dcsvm"))
    words = ["--scale", "minmax", "--quiet"]
    how: dict[str, Any] = {"scale": "minmax", "overwrite": True}
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
        f"{file.suffix[1:]:<9} {size:4.0f} MB: the command {command:.1f} s; warm {seconds:.2f} s, "
        f"{size / seconds:4.0f} MB/s, {size / cpu:4.0f} MB/s of a core"
    )
    return {"megabytes": size, "command": command, "seconds": seconds, "cpu_seconds": cpu}


if __name__ == "__main__":
    sys.exit(main())
