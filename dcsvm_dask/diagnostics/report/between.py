"""What the blocks of a level add to each other's objective: f(level) minus the blocks' own sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.diagnostics.report.demand import kept, rows_for
from dcsvm_dask.diagnostics.report.records import Records
from dcsvm_dask.kernels import kernel_product
from dcsvm_dask.models.model import Model
from dcsvm_dask.steps.predict import load_model

MOST_ROWS = 2000


def between(records: Records, stage: str, *, compute: bool) -> dict[str, Any] | None:
    """Return half of a'(Q - Q_blocks)a of a level without a bias, estimated; None: not computed.

    Only pairs of support vectors in different blocks count, so the estimate is far closer than
    that of the whole objective which the level's commit holds.

    Returns
    -------
    dict or None
        ``sum`` and its standard ``error``; ``rows``, the support vectors that were looked at.
    """
    node = records.run.find(stage, "commit")
    if node is None or node.released:
        return None

    def make() -> dict[str, Any]:
        model = load_model(records.run, stage)
        rng = np.random.default_rng([int(records.settings["seed"]), 5000])
        return estimate(model, rows_for(model.n_support, MOST_ROWS), rng)

    return kept(
        records.run, f"between-{stage}", [node.attempt, MOST_ROWS], make if compute else None
    )


def estimate(model: Model, size: int, rng: np.random.Generator) -> dict[str, Any]:
    """Estimate the sum at some support vectors.

    They are drawn, with replacement, by their alphas, which their terms have as a factor.
    """
    weights = np.abs(model.coef)
    total = float(weights.sum())
    if not total:
        return {"sum": 0.0, "error": 0.0, "rows": 0}
    drawn = np.sort(rng.choice(model.n_support, size=size, p=weights / total))
    chosen, again = np.unique(drawn, return_inverse=True)
    X = model.support[chosen]
    values, _ = kernel_product(model.kernel, X, model.support, model.coef)
    block_of = np.searchsorted(model.offsets, chosen, side="right") - 1
    for block in np.unique(block_of):
        mine = np.flatnonzero(block_of == block)
        own = slice(int(model.offsets[block]), int(model.offsets[block + 1]))
        within, _ = kernel_product(model.kernel, X[mine], model.support[own], model.coef[own])
        values[mine] -= within
    each = 0.5 * total * (np.sign(model.coef[chosen]) * values)[again]
    return {
        "sum": float(each.mean()),
        "error": float(each.std(ddof=1)) / size**0.5,
        "rows": size,
    }
