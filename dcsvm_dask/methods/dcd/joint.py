"""The joint step of all parts, and the rows that were kept of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, stacked
from dcsvm_dask.methods.dcd.points import DESCEND, Vector, moved, name_of, sums_of, variables
from dcsvm_dask.methods.linear.rows import dual_of, part_of, rows_of
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.solvers import joint_factors
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Dual


@dataclass(frozen=True, slots=True)
class JointStep:
    """The steps of all parts together, and the free rows that were kept of each."""

    w: Vector
    """The w that they lead to."""
    factors: Vector
    """The share of each part's step."""
    decrease: float
    """By how much the objective falls, at least."""
    kept: list[NDArray[np.int64]]
    """The variables of each part of which there are rows."""
    rows: Rows
    """These rows; None where there are none."""
    dual: Dual
    """Their problem."""
    beta: Vector
    """Their variables, after the step."""

    def split(self, beta: Vector) -> list[Vector]:
        """Return variables of the kept rows by parts."""
        return np.split(beta, np.cumsum([len(one) for one in self.kept])[:-1])


def joined_steps(
    run: RunFolder, problem: Problem, stage: str, previous: str | None, machine: int, parts: int
) -> JointStep:
    """Join the steps of all parts of an SVM; see `join_steps`."""
    steps = [run.node(stage, name_of(DESCEND, machine, part)) for part in range(parts)]
    w = sums_of(run, problem, previous, machine, parts).sum(axis=0)
    moves = np.stack([step.read("step") for step in steps])
    slopes, ridges = (np.array([step.record[key] for step in steps]) for key in ("slope", "ridge"))
    factors, fall = joint_factors(moves, w, slopes, ridges)
    w = w + factors @ moves
    starts, kept = [], []
    for part, step in enumerate(steps):
        index, chosen = part_of(problem, part, parts), step.read("kept")
        start = variables(run, previous, machine, index)
        starts.append(moved(start, step.read("alpha"), factors[part])[chosen])
        kept.append(index[chosen])
    dual = dual_of(problem, machine, np.concatenate(kept))
    beta, rows = dual.clip(np.concatenate(starts)), None
    if len(beta):
        rows = stacked(
            [rows_of(step, problem.X.n_features) for step in steps if step.record["kept"]]
        )
    return JointStep(w, factors, fall, kept, rows, dual, beta)
