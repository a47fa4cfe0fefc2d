"""Margins that the tolerance does not resolve: of nu-SVCs and one-class SVMs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dcsvm_dask.tasks import Task

if TYPE_CHECKING:
    from dcsvm_dask.storage.node import Record


def margins_of(record: Record, task: Task) -> list[float]:
    """Return the margin rho of each SVM of a model; none where the task has none.

    Parameters
    ----------
    record : dict
        That of the model's commit.
    task : Task
    """
    several = [each for name, each in record.items() if name.startswith("of_")]
    multipliers = several[0].get("multiplier", ()) if several else (record.get("multiplier"),)
    bias = None if several else record.get("bias")
    found = [task.margin(bias, multiplier) for multiplier in multipliers]
    return [rho for rho in found if rho is not None]


def narrow_margins_warning(rho: Sequence[float], tol: float) -> str | None:
    """Return the text of the warning of margins below the tolerance; None: there are none.

    Parameters
    ----------
    rho : sequence of float
        The margins in the scale in which the problems were solved.
    tol : float
        The violation at which they were.
    """
    sizes = np.abs(np.asarray(rho, dtype=np.float64))
    if not (narrow := int((sizes < tol).sum())):
        return None
    return (
        f"the margin rho of {narrow} of {len(sizes)} SVMs is below tol={tol:g} (the smallest is "
        f"{sizes.min():.2g}), so that decision values may be off by more than the margin: give a "
        "smaller tol, or a larger nu"
    )
