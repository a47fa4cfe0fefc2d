"""What TLS costs a local cluster of two workers: start and end, and the round trip of a task.

    python -m benchmarks.local_tls

Starts clusters with and without it in turns. Writes ``local_tls.json``.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.runs import write
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.cluster import connect as clusters

TASKS = 200


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--times", type=int, default=5)
    options.add_argument("--out", type=Path, default=Path("local_tls.json"))
    chosen = options.parse_args()
    certified = clusters.temporary_security
    ways = {"plain": lambda: None, "tls": certified}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for number in range(chosen.times + 1):
        for name, security in ways.items():
            clusters.temporary_security = security
            figures = once()
            if number:  # the first one imports
                found[name].append(figures)
    for name, rounds in found.items():
        middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        print(f"{name:<6}" + ", ".join(f"{key} {value:.2f}" for key, value in middle.items()))
    write(chosen.out, found)
    return 0


def once() -> dict[str, float]:
    """Return the seconds of a start, of all processors, and milliseconds of a round trip."""
    from distributed import default_client

    busy, begin = cpu_seconds(), time.perf_counter()
    with clusters.local_cluster(2, 1 << 30, Announcer("", []), {}):
        start = time.perf_counter() - begin
        client: Any = default_client()
        begin = time.perf_counter()
        for number in range(TASKS):
            client.submit(abs, number, pure=False).result()
        trip = (time.perf_counter() - begin) / TASKS
    return {"start s": start, "cpu s": cpu_seconds() - busy, "round trip ms": 1e3 * trip}


def cpu_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    sys.exit(main())
