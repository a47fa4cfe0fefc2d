"""Products of conquer's shares, which read only the rows that they can reach, beside dense ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from dcsvm_dask import api
from dcsvm_dask.methods.conquer import check, rounds
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.node import Attempt
from dcsvm_dask.storage.run import RunFolder

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, GAMMA, TOL = 4000, 32.0, 1e-3


class Kept:
    """An attempt whose arrays stay here, too."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt, self.arrays = attempt, dict[str, Any]()

    def write(self, name: str, array: Any, *more: Any) -> None:
        self.arrays[name] = np.array(array)
        self.attempt.write(name, array, *more)


def dense(run: RunFolder, rows: Any, columns: Any) -> Any:
    problem = read_problem(run)
    X, Z = (problem.take(index).astype(np.float64) for index in (rows, columns))
    return rbf_kernel(X, Z, gamma=GAMMA)


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many columns were left out before they were read, of rounds and of checks."""
    counts = {"rounds": 0, "check": 0}

    def counting(name: str, near: Callable[..., Any]) -> Callable[..., Any]:
        def call(problem: Any, rows: Any, columns: Any, *others: Any) -> Any:
            kept, budget = near(problem, rows, columns, *others)
            counts[name] += len(columns) - len(kept)
            return kept, budget

        return call

    for module, name in ((rounds, "rounds"), (check, "check")):
        monkeypatch.setattr(module, "near", counting(name, module.near))
    return counts


@pytest.fixture
def worst(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The largest differences from dense products in float64 of all tasks of a run."""
    found = {"F": 0.0, "M": 0.0, "f": 0.0}
    steps, point = rounds.product_of_steps, check.product_of_point

    def note(name: str, difference: Any) -> None:
        found[name] = max(found[name], float(np.abs(difference).max(initial=0.0)))

    def of_steps(run: RunFolder, attempt: Any, **how: Any) -> Any:
        kept = Kept(attempt)
        record = steps(run, kept, **how)  # type: ignore[arg-type]
        columns, moves, groups = rounds.read_steps(run, how["stage"], how["blocks"])
        before = run.node(how["previous"], "commit")
        n, part, parts = before.record["watched"], how["part"], how["parts"]
        mine = before.read("rows", slice(n * part // parts, n * (part + 1) // parts))
        of_block = np.zeros((len(columns), how["blocks"]))
        of_block[np.arange(len(columns)), np.repeat(np.arange(how["blocks"]), np.diff(groups))] = (
            moves
        )
        wanted = dense(run, mine, columns) @ of_block
        F = np.zeros_like(wanted)
        F[:, kept.arrays["reached"]] = kept.arrays["F"]
        note("F", F - wanted)
        at = np.searchsorted(mine, columns)
        here = np.flatnonzero(np.take(mine, at, mode="clip") == columns)
        note("M", kept.arrays["M"] - of_block[here].T @ wanted[at[here]])
        return record

    def of_point(run: RunFolder, attempt: Any, **how: Any) -> Any:
        kept = Kept(attempt)
        record = point(run, kept, **how)  # type: ignore[arg-type]
        beta = run.node(how["source"], how["node"]).read("beta")[0]
        mine = rounds.scope_rows(run, how["scope"], how["part"], how["parts"])
        support = np.flatnonzero(beta)
        note("f", kept.arrays["f"] - dense(run, mine, support) @ beta[support])
        return record

    monkeypatch.setattr(rounds, "product_of_steps", of_steps)
    monkeypatch.setattr(check, "product_of_point", of_point)
    return found


@pytest.mark.long
def test_products_of_what_can_be_reached_are_those_of_all(
    shared_data: Callable[[str], Any],
    tmp_path: Path,
    left_out: dict[str, int],
    worst: dict[str, float],
) -> None:
    found = shared_data("covtype")
    X = found["X_train"][:: len(found["X_train"]) // ROWS][:ROWS].astype(np.float32)
    y = found["y_train"][:: len(found["y_train"]) // ROWS][:ROWS]
    X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1)
    run = api.train(
        api.ingest((X, y), tmp_path / "rows.zarr", scale="none"),
        tmp_path / "run",
        C=32.0,
        gamma=GAMMA,
        tol=TOL,
        clusters=(16,),
        block_cap=300,
        execution=Execution(workers=0),
        quiet=True,
    )
    assert run.status()["converged"]
    assert left_out["rounds"] > 0
    assert left_out["check"] > 0
    assert worst["f"] < 0.5 * TOL
    assert worst["F"] < 0.5 * TOL
    assert worst["M"] < 32.0 * TOL
