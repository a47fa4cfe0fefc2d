"""The commit of a round: the variables of all SVMs, what they give to w, and how far they are."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.dcd.points import DESCEND, MEASURE, Vector, name_of
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


class Stand(Protocol):
    """Tells how far an SVM is."""

    def __call__(
        self, machine: int, alpha: Vector, sums: NDArray[np.float64], /
    ) -> tuple[Record, NDArray[np.float64]]:
        """Return its record, and what adds up to w: what each part gives, and more."""


def commit_svms(
    run: RunFolder,
    attempt: Attempt,
    stand: Stand,
    *,
    stage: str,
    previous: str | None,
    machines: list[int],
    parts: int,
    tol: float,
) -> Record:
    """Commit the variables of all SVMs; see `commit_round`."""
    problem = read_problem(run)
    before = None if previous is None else run.node(previous, "commit")
    number = len(problem.machines) if problem.has_several else 1
    layer = DESCEND if parts == 1 else MEASURE
    in_margin = np.zeros(problem.n, dtype=bool)
    each: list[Record] = []
    for machine in range(number):
        last = before.record["of_svms"][machine] if before is not None else {}
        alpha_name, sums_name = f"alpha_{machine:04d}", f"sums_{machine:04d}"
        if machine not in machines:
            assert before is not None
            alpha, sums = before.read(alpha_name), before.read(sums_name)
            each.append(last)
        else:
            nodes = [run.node(stage, name_of(layer, machine, part)) for part in range(parts)]
            alpha = np.concatenate([node.read("alpha") for node in nodes])
            sums = np.stack([node.read("sum") for node in nodes])
            descents = [run.node(stage, name_of(DESCEND, machine, part)) for part in range(parts)]
            passes = max(node.record["passes"] for node in descents)
            standing, sums = stand(machine, alpha, sums)
            each.append({**standing, "passes": passes + last.get("passes", 0)})
        attempt.write(alpha_name, alpha)
        attempt.write(sums_name, sums)
        in_margin |= alpha != 0.0
    total = {key: sum(one[key] for one in each) for key in ("objective", "gap", "bounded")}
    return {
        "rows": problem.n,
        **total,
        "primal_objective": total["gap"] - total["objective"],
        "violation": max(one["violation"] for one in each),
        "violations": [one["violation"] for one in each],
        "support": int(np.count_nonzero(in_margin)),
        "passes": max(one["passes"] for one in each),
        "svms": len(machines),
        "parts": parts,
        "tol": tol,
        "from_scratch": True,
        "of_svms": each,
    }
