"""OCAS to equal duality gaps: us and libocas' svmocas, on one thread and on two.

    apt-get install libocas-tools
    python -m benchmarks.ocas [--tasks a9a,w8a] [--gaps 1e-2,1e-3] [--times 3] [--cpa]

Both stop at the gap of primal and dual objective relative to the primal one. Seconds are those of
training alone: what svmocas prints as ``ocas_time``, and ours of `solve_cutting`, compiled before;
the best of several in turn. A constant of 1 is appended. `--cpa` compares the plain cutting plane
algorithm, too. Writes ``ocas.json``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits

from benchmarks.linear_gaps import TASKS
from benchmarks.runs import write
from dcsvm_dask.solvers import solve_cutting
from dcsvm_dask.tasks import Classification

COSTS = (0.01, 1.0)
PLAIN: dict[str, Any] = {"best": False, "line_search": False, "share": 1.0}
Figures = dict[str, Any]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tasks", default=",".join(TASKS))
    options.add_argument("--gaps", default="1e-2,1e-3")
    options.add_argument("--costs", default=",".join(map(str, COSTS)))
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--cpa", action="store_true")
    options.add_argument("--out", type=Path, default=Path("ocas.json"))
    chosen = options.parse_args()
    found: list[Figures] = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for name in chosen.tasks.split(","):
            make, is_sparse = TASKS[name]
            task = make()
            file = Path(folder) / f"{name}.svm"
            dump_svmlight_file(task.X, task.y, str(file), zero_based=False)
            X = sparse.csr_array(task.X) if is_sparse else task.X
            for C in map(float, chosen.costs.split(",")):
                for gap in map(float, chosen.gaps.split(",")):
                    for plain in (False, True)[: 1 + chosen.cpa]:
                        one = compare(X, task.y, file, C, gap, plain, chosen.times)
                        found.append({"task": name, "C": C, "gap": gap, "plain": plain, **one})
                        print(line(found[-1]), flush=True)
            file.unlink()
    write(chosen.out, {"comparisons": found})
    for threads in (1, 2):
        ratios = [one["ours"][threads - 1] / one["svmocas"][threads - 1] for one in found]
        print(f"{threads} threads: median {np.median(ratios):.2f}, largest {max(ratios):.2f}")
    print(f"speed-up of two: median {np.median([np.divide(*one['ours']) for one in found]):.2f}")
    return 0


def line(one: Figures) -> str:
    """Return a comparison as a line of text."""
    ours, theirs = one["ours"], one["svmocas"]
    return (
        f"{one['task']:<17} {'CPA ' if one['plain'] else 'OCAS'} C {one['C']:<5g} gap "
        f"{one['gap']:<6g} ratio {ours[0] / theirs[0]:5.2f}  ours {ours[0]:.3f} s "
        f"{one['iterations']} iterations, svmocas {theirs[0]:.3f} s {one['their_iterations']}; "
        f"two threads {ours[1]:.3f} and {theirs[1]:.3f} s; "
        + ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in one["phases"].items())
    )


def compare(X: Any, y: Any, file: Path, C: float, gap: float, plain: bool, times: int) -> Figures:
    """Return the seconds of both on one thread and on two, and their iterations."""
    dual = Classification().dual(y, np.full(len(y), C))
    how = PLAIN if plain else {}
    solve_cutting(X[:50], dual[:50], constant=1.0, max_iter=3)  # compiles
    ours: dict[int, list[float]] = {1: [], 2: []}
    theirs: dict[int, list[float]] = {1: [], 2: []}
    found: Figures = {}
    for _ in range(times):
        for threads in (1, 2):
            begin = time.perf_counter()
            solution = solve_cutting(
                X, dual, constant=1.0, unit="objective", tol=gap, threads=threads, **how
            )
            ours[threads].append(time.perf_counter() - begin)
            assert solution.converged
            seconds, iterations, objective = svmocas(file, C, gap, plain, threads)
            theirs[threads].append(seconds)
            assert abs(objective - solution.objective) <= 2.0 * gap * objective
            if threads == 1:
                found = {"iterations": solution.n_iter, "their_iterations": iterations}
                found["phases"] = {
                    phase: sum(getattr(step, phase) for step in solution.history)
                    for phase in ("output", "line_search", "cut", "reduced")
                }
    best = {"ours": [min(ours[i]) for i in (1, 2)], "svmocas": [min(theirs[i]) for i in (1, 2)]}
    return {**found, **best}


def svmocas(
    file: Path, C: float, gap: float, plain: bool, threads: int
) -> tuple[float, int, float]:
    """Return seconds of training, iterations and the objective of svmocas."""
    words = ["-c", str(C), "-b", "1", "-r", str(gap), "-m", str(int(not plain)), "-p", str(threads)]
    said = subprocess.run(
        ["svmocas", *words, str(file), str(file) + ".model"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    last = re.findall(r"(\d+): tim=([\d.]+), Q_P=([\d.]+)", said)[-1]
    seconds = re.search(r"ocas_time\s*:\s*([\d.]+)", said)
    assert seconds is not None
    return float(seconds[1]), int(last[0]), float(last[2])


if __name__ == "__main__":
    sys.exit(main())
