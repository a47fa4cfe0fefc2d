"""How time grows with rows and falls with workers, on Covertype.

    python -m benchmarks.growth [--quick]

Trains prefixes of growing size, exactly and to the lowest level (early), fits the exponent of time
against rows, and shows that of rows x support vectors beside it; then trains one size with one
worker and with two. Writes ``growth.json``.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.datasets import covtype
from benchmarks.runs import Figures, ingest, train, write
from dcsvm_dask.pipeline.training import BOTTOM_BLOCK_ROWS

SIZES = (10_000, 30_000, 100_000, 464_810)
QUICK = (10_000, 20_000, 40_000)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small sizes")
    options.add_argument("--out", type=Path, default=Path("growth.json"))
    chosen = options.parse_args()
    sizes = QUICK if chosen.quick else SIZES
    found: dict[str, list[Figures]] = {"exact": [], "early": [], "workers": []}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            home, task = Path(folder), covtype(rows)
            data = ingest(task, home)
            bottom = str(max(1, round(math.log(rows / BOTTOM_BLOCK_ROWS, 8))))
            early = ["--levels", bottom, "--stop-at", bottom]
            for kind, words in (("exact", []), ("early", early)):
                found[kind].append(train(task, data, home / kind, *words))
                print(f"{rows:>8} {kind:<6} " + line(found[kind][-1]))
            if rows == sizes[-2]:
                for workers in ("1", "2"):
                    run = home / f"workers-{workers}"
                    found["workers"].append(train(task, data, run, "--workers", workers))
    exponents = {
        "exact": exponent(sizes, [f["seconds"] for f in found["exact"]]),
        "early": exponent(sizes, [f["seconds"] for f in found["early"]]),
        "rows x support vectors": exponent(
            sizes, [f["variables"] * f["n_support"] for f in found["exact"]]
        ),
    }
    for name, value in exponents.items():
        print(f"exponent of {name}: {value:.2f}")
    one, two = (figures["seconds"] for figures in found["workers"])
    print(f"{sizes[-2]} rows: 1 worker {one:.1f} s, 2 workers {two:.1f} s, {one / two:.2f} times")
    write(chosen.out, {"sizes": sizes, **found, "exponents": exponents, "speedup": one / two})
    return 0


def exponent(sizes: tuple[int, ...], values: list[float]) -> float:
    """Return the slope of log values over log sizes."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def line(figures: Figures) -> str:
    """Return a run's figures in a line."""
    return (
        f"{figures['seconds']:8.2f} s  accuracy {figures['accuracy']:.4f}  "
        f"{figures['n_support']} support vectors  work {figures['floor_ratio']:.2f} x n x nSV"
    )


if __name__ == "__main__":
    sys.exit(main())
