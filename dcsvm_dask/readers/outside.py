"""Cells of later rows that lie far outside of the range of the training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.rows import Rows, is_sparse
from dcsvm_dask.numbers import counted

SHARE = 0.1
"""Share of a feature's cells above which there is a warning: single outliers are no mistake."""


class OutsideCounts:
    """Counts cells that are farther from their feature's training range than that is wide.

    Features that were constant are left out: their variation is unknown.

    Parameters
    ----------
    ranges : sequence of (float, float)
        The least and the greatest value of each feature, before scaling. Rows with more features
        are not looked at.
    """

    def __init__(self, ranges: Sequence[Sequence[float]]) -> None:
        self._ranges = np.array(ranges, np.float64).reshape(-1, 2)
        low, high = self._ranges.T
        width = np.where(high > low, high - low, np.inf)
        self._low, self._high = low - width, high + width
        self._counts = np.zeros(len(low), np.int64)
        self._samples = np.zeros(len(low))

    def update(self, rows: Rows) -> None:
        """Add rows, an array or CSR of shape (n, n_features), before scaling."""
        if rows.shape[1] != len(self._ranges) or not rows.shape[0]:
            return
        beyond = (_extreme(rows, "min") < self._low) | (_extreme(rows, "max") > self._high)
        for j in np.flatnonzero(beyond).tolist():
            column = rows[:, [j]].toarray()[:, 0] if is_sparse(rows) else rows[:, j]
            outside = np.flatnonzero((column < self._low[j]) | (column > self._high[j]))
            if not self._counts[j]:
                self._samples[j] = column[outside[0]]
            self._counts[j] += outside.size

    def to_json(self, names: Sequence[str] | None) -> dict[str, dict[str, float]]:
        """Return what was found of each feature that has such cells, as JSON values.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the features; by default their numbers from 0.

        Returns
        -------
        dict
            By name ``cells`` (how many), ``sample`` (the first of them), ``least`` and
            ``greatest`` (the range of the training rows).
        """
        return {
            str(j) if names is None else names[j]: {
                "cells": int(self._counts[j]),
                "sample": float(self._samples[j]),
                "least": float(self._ranges[j, 0]),
                "greatest": float(self._ranges[j, 1]),
            }
            for j in np.flatnonzero(self._counts).tolist()
        }


def outside_line(found: dict[str, dict[str, float]], n_rows: int) -> str | None:
    """Return the message on `OutsideCounts.to_json` of so many rows; None: nothing to report."""
    name, worst = max(found.items(), key=lambda pair: pair[1]["cells"], default=("", None))
    if worst is None or worst["cells"] <= SHARE * n_rows:
        return None
    others = f" (and cells of {counted(len(found) - 1, 'more feature')})" if len(found) > 1 else ""
    return (
        f"the feature {name!r} is far outside of its training range, {worst['least']:.6g} to "
        f"{worst['greatest']:.6g}, in {worst['cells']:,} of {counted(n_rows, 'row')}, such as "
        f"{worst['sample']:.6g}{others}: predictions there mean little; compare unit and decimal "
        "mark with the training table"
    )


def _extreme(rows: Rows, which: str) -> NDArray[np.float64]:
    """Return the least ("min") or greatest ("max") value of each feature."""
    found = getattr(rows, which)(axis=0)
    return np.asarray(found.toarray() if is_sparse(rows) else found, np.float64).ravel()
