"""How time grows with rows and falls with workers, on Covertype.

    python -m benchmarks.growth [--quick]

Trains prefixes of growing size, exactly and to the lowest level (early), fits the exponent of time
against rows, and shows that of rows x support vectors beside it; then trains one size with one
worker and with two, beside what two copies of the fused tile reach. Writes ``growth.json``.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import Task, covtype
from benchmarks.runs import Figures, ingest, train, write
from dcsvm_dask.kernels import Kernel, kernel_product
from dcsvm_dask.pipeline.levels import BOTTOM_BLOCK_ROWS

SIZES = (10_000, 30_000, 100_000, 464_810)
QUICK = (10_000, 20_000, 40_000)
TILE_ROWS, TILE_SECONDS = 8192, 5.0


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
    tile = two_tiles(covtype(sizes[-2]))
    print(
        f"{sizes[-2]} rows: 1 worker {one:.1f} s, 2 workers {two:.1f} s, {one / two:.2f} times; "
        f"two copies of the tile {tile:.2f} times"
    )
    speedups = {"speedup": one / two, "speedup_of_tile": tile}
    write(chosen.out, {"sizes": sizes, **found, "exponents": exponents, **speedups})
    return 0


def two_tiles(task: Task) -> float:
    """Return how many times as many kernel values two processes compute as one."""
    rows = (task.X[:TILE_ROWS], task.X[-TILE_ROWS:], task.gamma)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        list(pool.map(tile_rate, *zip(*[rows] * 2, strict=True)))  # load what is compiled
        one = pool.submit(tile_rate, *rows).result()
        both = [pool.submit(tile_rate, *rows) for _ in range(2)]
        return sum(rate.result() for rate in both) / one


def tile_rate(X: np.ndarray, Z: np.ndarray, gamma: float) -> float:
    """Return how often a second a product of rows is computed."""
    kernel, times, begin = Kernel("rbf", gamma), 0, time.perf_counter()
    with threadpool_limits(1):
        while (spent := time.perf_counter() - begin) < TILE_SECONDS:
            kernel_product(kernel, X, Z, np.ones(len(Z)))
            times += 1
    return times / spent


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
