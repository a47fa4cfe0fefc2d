"""Theorem 1 of Hsieh, Si, Dhillon (2014) for a run: f(level) - f* <= C^2 D / 2.

For other tasks than classes the bound is `Task.product_range` times as large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.diagnostics.report.tables.demand import kept, rows_for
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.kernels import Kernel, kernel_product
from dcsvm_dask.methods.predict import load_single
from dcsvm_dask.models.model import Model
from dcsvm_dask.random_streams import THEOREM_REPORT, generator
from dcsvm_dask.storage.stage_id import StageId

MOST_ROWS = 2000


def between(records: Records, stage: str, *, compute: bool) -> dict[str, Any] | None:
    """Return an estimate of half of a'(Q - Q_blocks)a of a level without a bias.

    Only pairs of support vectors in different blocks count, so the estimate is far closer than
    the estimate of the whole objective in the level's commit.

    Parameters
    ----------
    records : Records
    stage : str
        The level.
    compute : bool
        Whether to compute an estimate that is not stored.

    Returns
    -------
    dict or None
        ``sum`` and its standard ``error``; ``rows``, the number of drawn support vectors. None
        where it is neither stored nor computed.
    """
    node = records.run.find(stage, "commit")
    if node is None or node.released:
        return None

    def make() -> dict[str, Any]:
        model = load_single(records.run, stage)
        rng = generator(int(records.settings["seed"]), THEOREM_REPORT)
        return estimate(model, rows_for(model.n_support, MOST_ROWS), rng)

    return kept(
        records.run, f"between-{stage}", [node.attempt, MOST_ROWS], make if compute else None
    )


def estimate(model: Model, size: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the estimate of the sum from a random sample of support vectors.

    They are drawn with replacement, with probabilities proportional to their alphas.

    Parameters
    ----------
    model : Model
    size : int
        Number of draws, at least 2.
    rng : numpy.random.Generator

    Returns
    -------
    dict
        ``sum``, ``error`` (standard error) and ``rows``.
    """
    coef = model.coef[0]
    weights = np.abs(coef)
    total = float(weights.sum())
    if not total:
        return {"sum": 0.0, "error": 0.0, "rows": 0}
    drawn = np.sort(rng.choice(model.n_support, size=size, p=weights / total))
    chosen, again = np.unique(drawn, return_inverse=True)
    X = model.support[chosen]
    values, _ = kernel_product(model.kernel, X, model.support, coef)
    block_of = np.searchsorted(model.offsets, chosen, side="right") - 1
    for block in np.unique(block_of):
        mine = np.flatnonzero(block_of == block)
        own = slice(int(model.offsets[block]), int(model.offsets[block + 1]))
        within, _ = kernel_product(model.kernel, X[mine], model.support[own], coef[own])
        values[mine] -= within
    each = 0.5 * total * (np.sign(coef[chosen]) * values)[again]
    return {
        "sum": float(each.mean()),
        "error": float(each.std(ddof=1)) / size**0.5,
        "rows": size,
    }


COLUMNS = (
    "level",
    "D",
    "D_error",
    "D_share",
    "bound",
    "bound_error",
    "difference",
    "difference_error",
    "difference_from",
)


def theorem(records: Records, *, compute: bool = False) -> Table:
    """Return a row for each level: D(pi), the bound from it, and f(level) - f*.

    D(pi) and ``difference`` are estimated on samples, with standard errors; the bound has the
    largest bound of all variables, C times the largest weight. ``difference_from`` is the source of
    the difference: ``exact``, where the rounds began at the level's own alphas and computed its
    objective; ``pairs``, from the pairs of support vectors in different blocks, which costs kernel
    values and so needs `compute`; else ``rows``, from the level's commit. There is no bound where
    `why_no_bound` gives a reason, and no difference before the exact model is reached or with a
    bias.
    """
    best, factor = records.best, _factor_of_bound(records)
    rows = []
    for stage in records.levels:
        commit = records.commits[stage]
        row: dict[str, Any] = {"level": StageId(stage).height} | {
            key: commit.get(key) for key in ("D", "D_error", "D_share")
        }
        if factor is not None and row["D"] is not None:
            row |= {"bound": factor * row["D"], "bound_error": factor * row["D_error"]}
        if best is not None and not records.settings["fit_intercept"]:
            row |= _difference(records, stage, best["objective"], compute=compute)
        rows.append(row)
    return table(COLUMNS, rows)


def _factor_of_bound(records: Records) -> float | None:
    """Return the bound divided by D(pi); None where `why_no_bound` gives a reason."""
    width = records.task.product_range
    if width is None or why_no_bound(records) is not None:
        return None
    most = max(records.settings.get("class_weight", ()), default=1.0)
    most *= records.commits.get("arrange", {}).get("largest_weight", 1.0)
    return float(0.5 * width * (records.settings["C"] * most) ** 2)


def why_no_bound(records: Records) -> str | None:
    """Return why the theorem does not apply to a run; None if it does."""
    kernel = Kernel(**records.settings["kernel"])
    arrange = records.commits.get("arrange", {})
    if not kernel.is_psd:
        return (
            f"The {kernel.name} kernel is not positive semi-definite, so the theorem gives no bound"
        )
    if records.settings["fit_intercept"]:
        return "The theorem is about the problem without a bias"
    if records.task.product_range is None:
        return "The theorem needs bounds of the variables, which squared losses do not have"
    if arrange.get("variables") != arrange.get("rows"):
        return (
            "Repeated rows were merged into variables with larger bounds, "
            "and D was measured without these weights"
        )
    return None


def _difference(
    records: Records, stage: str, final: float, *, compute: bool
) -> dict[str, float | str]:
    """Return f(level) - f*."""
    last = records.levels[-1]
    start = records.commits.get("refine-000") or records.commits.get("conquer-000")
    # Rounds begin with f from scratch at the last level's alphas: its objective, exactly.
    if (
        stage == last
        and start
        and start["support"] == records.commits[stage]["support"]
        and start.get("from_scratch")
        and start.get("scale") == 1.0
    ):
        exact = start["objective"] - final
        return {"difference": exact, "difference_error": 0.0, "difference_from": "exact"}
    commit = records.commits[stage]
    pairs = between(records, stage, compute=compute)
    if pairs is not None:
        objective, error, source = commit["objective"] + pairs["sum"], pairs["error"], "pairs"
    else:
        objective, error = commit["objective_estimate"], commit["objective_error"]
        source = "rows"
    return {
        "difference": objective - final,
        "difference_error": error,
        "difference_from": source,
    }
