"""Memory of an ingest: a 2 GB svmlight file, the peak of every process.

    python -m benchmarks.ingest_memory [--gigabytes 2] [FOLDER]

Writes a made svmlight file of that size (once; FOLDER keeps it), ingests it with the command line
and prints the time and the largest resident memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peaks import report

FEATURES = 54
BLOCK = 20_000


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", nargs="?", type=Path)
    options.add_argument("--gigabytes", type=float, default=2.0)
    options.add_argument("--scale", default="minmax")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = chosen.folder or Path(temporary)
        file = home / f"made-{chosen.gigabytes:g}.svm"
        if not file.exists():
            write(file, int(chosen.gigabytes * 1e9))
        print(f"{file.stat().st_size / 1e9:.2f} GB of svmlight text, scale {chosen.scale}")
        dcsvm = str(Path(sys.executable).with_name("dcsvm"))
        out = str(home / "ingested.zarr")
        command = [dcsvm, "ingest", str(file), "--out", out, "--overwrite", "--quiet"]
        return report([*command, "--scale", chosen.scale])


def write(file: Path, size: int) -> None:
    """Write rows until the file has a size in bytes."""
    rng = np.random.default_rng(0)
    form = "%d " + " ".join(f"{i + 1}:%.5f" for i in range(FEATURES))
    with file.open("w") as out:
        while out.tell() < size:
            y = rng.choice([-1, 1], BLOCK)
            X = rng.random((BLOCK, FEATURES), dtype=np.float32)
            np.savetxt(out, np.column_stack([y, X]), fmt=form)


if __name__ == "__main__":
    sys.exit(main())
