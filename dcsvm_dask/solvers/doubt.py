"""Which gradients an error could make or hide a violation of, so that they are computed exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
BIAS_SLACK = 0.1
"""Change of the bias up to which what was in no doubt stays so, in units of `Dual.unit`."""


def doubt(
    beta: Vector, dual: Dual, bias: float | None, *, equality: bool
) -> tuple[Vector, Vector] | None:
    """Return the range of f in which a row's error could make or hide a violation.

    A variable at zero that can move to one side only is optimal if its gradient f + p + b points
    to the other, whatever its size; f of support vectors is in the objective, so that all of its
    values are in doubt.

    Parameters
    ----------
    beta : ndarray, shape (m,), float64
    dual : Dual
        The problem of these variables; where sizes have a sum, with its multiplier in its place
        (`Dual.eased`).
    bias : float or None
        The bias, about: it may change by `BIAS_SLACK`. Without it all values are in doubt.
    equality : bool
        Whether the problem has a bias.

    Returns
    -------
    tuple of two ndarrays of shape (m,), or None
        Lower and upper ends, as `kernel_product` takes them; None: all values are in doubt.
    """
    if equality and bias is None:
        return None
    slack = BIAS_SLACK * dual.unit if equality else 0.0
    zero = beta == 0.0
    rises, falls = zero & (dual.lower >= 0.0), zero & (dual.upper <= 0.0)
    edge = -dual.p + np.where(rises, slack, -slack) - (bias or 0.0)
    return np.where(falls, edge, -np.inf), np.where(rises, edge, np.inf)
