"""The largest resident memory of all processes together while Covertype is trained.

    python -m benchmarks.memory [--quick] [--words "--block-cap 4096"]

All 464,810 rows (quick: 100,000); sums the peaks of the command, its scheduler and its workers.
Writes ``memory.json``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from pathlib import Path

from benchmarks.datasets import covtype
from benchmarks.peaks import measure
from benchmarks.runs import command, figures, ingest, write

SMALL = "--block-cap 4096"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="100,000 rows")
    options.add_argument("--words", default=SMALL, help="the setting for small memory")
    options.add_argument("--out", type=Path, default=Path("memory.json"))
    chosen = options.parse_args()
    task = covtype(100_000 if chosen.quick else 464_810)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data = ingest(task, home)
        for name, words in (("default", ""), ("small", chosen.words)):
            run = home / name
            peaks = measure(command(task, data, run, *shlex.split(words)))
            total = sum(peak for _, peak in peaks)
            found[name] = {**figures(run, data), "peaks": peaks, "words": words}
            print(
                f"{name:<8} {found[name]['seconds']:7.1f} s, {total / 2**30:.2f} GiB in "
                f"{len(peaks)} processes, the largest {max(p for _, p in peaks) / 2**30:.2f} GiB"
                + (f"  ({words})" if words else "")
            )
    write(chosen.out, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
