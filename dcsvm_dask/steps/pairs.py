"""Many classes: a machine for each pair of them, each solved whole; they share support vectors."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers import Machine, solve_whole
from dcsvm_dask.steps.level import SUPPORT_CHUNK_ROWS
from dcsvm_dask.steps.problem import ARRANGE, data_of, data_rows, representatives, settings_of
from dcsvm_dask.steps.resources import threads
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.steps.telling import Telling
from dcsvm_dask.storage.model import write_pairs
from dcsvm_dask.storage.rows_selected import SelectedRows
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

SOLVE = "solve"
OF_PAIRS = ("objective", "violation", "iterations")
"""What the commit says of each pair."""


@dataclass(frozen=True)
class ClassProblem:
    """Rows of many classes; those equal in x and y are one variable."""

    settings: Settings
    X: SelectedRows
    codes: NDArray[np.int32]
    """The class of each variable."""
    weights: NDArray[Any]
    """How many rows of the data set each variable stands for."""
    rows: Index
    """The row of the data set that stands for each variable."""

    def bounds(self, index: Index) -> Vector:
        """Return the upper bounds of some variables."""
        return np.asarray(self.settings.bound_of(self.codes[index]) * self.weights[index])


def read_classes(run: RunFolder) -> ClassProblem:
    """Open the problem of a run whose rows were merged; kept for the next step of the process."""
    return _read_classes(run.place.url, run.node(ARRANGE, "commit").attempt)


@lru_cache(maxsize=1)
def _read_classes(run_url: str, attempt: str) -> ClassProblem:
    del attempt  # part of the cache's key
    run = RunFolder.open(run_url)
    commit, data = run.node(ARRANGE, "commit"), data_of(run)
    rows = commit.read("rows")
    codes = data.read_codes(0, data.n_rows)[rows]
    X = SelectedRows(data_rows(run), rows)
    return ClassProblem(settings_of(run), X, codes, commit.read("weight"), rows)


def node_of(a: int, b: int) -> str:
    """Return the name of the node that solves a pair."""
    return f"{SOLVE}-{a:04d}-{b:04d}"


def solve_pair(
    run: RunFolder, attempt: Attempt, *, a: int, b: int, number: int, tol: float
) -> Record:
    """Solve the machine of two classes, of which the first is positive.

    Writes the ``support`` vectors, as numbers of variables, ascending, and their ``coef``.

    Parameters
    ----------
    a, b : int
        Codes of the classes.
    number : int
        Place of the pair among all.
    """
    problem = read_classes(run)
    settings, begin = problem.settings, time.perf_counter()
    telling = Telling([number])
    index, y = Machine(a, b).rows(problem.codes)
    C = problem.bounds(index)
    solution, values = solve_whole(
        settings.kernel,
        problem.X.take(index),
        y,
        C,
        equality=settings.fit_intercept,
        tol=tol,
        working_size=settings.set_cap,
        seed=settings.seed,
        threads=threads(),
    )
    support = np.flatnonzero(solution.alpha)
    attempt.write("support", index[support])
    attempt.write("coef", y[support] * solution.alpha[support])
    record = {
        "rows": len(index),
        "support": len(support),
        "bounded": int(np.count_nonzero(solution.alpha >= C)),
        "objective": solution.objective,
        "violation": solution.violation,
        "iterations": solution.n_iter,
        "kernel_values": values,
    }
    each = {**record, "seconds": time.perf_counter() - begin}
    telling.solved(number, each)
    return {
        **record,
        "blocks": 1,
        "members": [number],
        "each": {key: [value] for key, value in each.items()},
        "bias": solution.bias,
        "converged": bool(solution.converged),
    }


def commit_pairs(run: RunFolder, attempt: Attempt, *, stage: str, n_classes: int) -> Record:
    """Write the model of all pairs and ``alpha`` of every row, with signs, for each of its pairs.

    Of a row of class c, ``alpha[k]`` belongs to the machine of c and the k-th of the other classes;
    it is above 0 where c is the first of the two.
    """
    problem = read_classes(run)
    pairs = list(combinations(range(n_classes), 2))
    coef = np.zeros((n_classes - 1, len(problem.rows)))
    records = []
    for a, b in pairs:
        node = run.node(stage, node_of(a, b))
        support, values = node.read("support"), node.read("coef")
        first = values > 0
        coef[b - 1, support[first]] = values[first]
        coef[a, support[~first]] = values[~first]
        records.append(node.record)
    attempt.write("alpha", _of_rows(run, problem, coef))
    support = np.flatnonzero(coef.any(axis=0))
    support = support[np.lexsort((problem.rows[support], problem.codes[support]))]
    model = write_pairs(
        attempt,
        (
            problem.X.take(support[i : i + SUPPORT_CHUNK_ROWS])
            for i in range(0, len(support), SUPPORT_CHUNK_ROWS)
        ),
        coef[:, support],
        np.bincount(problem.codes[support], minlength=n_classes).astype(np.int64),
        np.array([record["bias"] for record in records]),
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
    )
    return {
        "pairs": len(pairs),
        "rows": len(problem.rows),
        "support": len(support),
        "objective": sum(record["objective"] for record in records),
        "violation": max(record["violation"] for record in records),
        "converged": all(record["converged"] for record in records),
        "of_pairs": {key: [record[key] for record in records] for key in OF_PAIRS},
        **{key: sum(record[key] for record in records) for key in ("iterations", "bounded")},
        **model,
    }


def _of_rows(run: RunFolder, problem: ClassProblem, coef: Vector) -> Vector:
    """Return the coefficients of every row of the data set: merged rows get equal shares."""
    commit = run.node(ARRANGE, "commit")
    by_row = np.zeros((len(coef), commit.record["rows"]))
    by_row[:, problem.rows] = coef / problem.weights
    representative = representatives(commit)
    return by_row if representative is None else by_row[:, representative]
