"""Prediction of a level or a bag by the Bayesian committee machine (Tresp 2000).

Each block's SVM becomes a probability by a sigmoid of its decision value (Platt 2000); the
SVMs are taken to be independent but for the prior that they share. Hsieh, Si and Dhillon
(2014) compare early prediction with it in Table 1.

Of real targets each SVM becomes a normal distribution by a line fitted to its decision values, and
members weigh by the inverse of their variances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_ITERATIONS = 100
_LEAST_DERIVATIVE = 1e-5
_RIDGE = 1e-12
_SHORTEST_STEP = 1e-10
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Committee:
    """What makes one value of the decision values of a level's or a bag's SVMs.

    Of classes that are log odds. Of real targets it is their mean: a member weighs with its share
    of the committee's precision, and so does the prior; see `of_normal`.

    Attributes
    ----------
    slope, intercept : ndarray, shape (n_blocks,), float64
        The log odds of a block's SVM are slope f + intercept, f without a bias.
    prior : float
        The log odds of the positive class among all rows.
    """

    slope: Vector
    intercept: Vector
    prior: float

    def fits(self, members: int) -> bool:
        """Return whether it is one of so many members, of finite numbers."""
        shaped = self.slope.shape == self.intercept.shape == (members,)
        numbers = (self.slope, self.intercept, self.prior)
        return shaped and all(bool(np.isfinite(number).all()) for number in numbers)

    @classmethod
    def of_normal(
        cls, slope: Vector, intercept: Vector, precision: Vector, prior: tuple[float, float]
    ) -> Self:
        """Return the committee of members that give normal distributions of a target.

        The precision of the committee is that of all members less k - 1 times that of the prior,
        and its mean the members' means, each by its precision, less k - 1 times the prior's (Tresp
        2000, equations 5 and 6).

        Parameters
        ----------
        slope, intercept, precision : ndarray, shape (n_blocks,), float64
            A member's mean is slope f + intercept; the precision, the inverse of the variance, is
            at least that of the prior.
        prior : (mean, precision)
            Of all targets.
        """
        mean, least = prior
        whole = float(precision.sum()) - (len(precision) - 1) * least
        share = precision / whole
        return cls(slope * share, intercept * share, mean * least / whole)

    def logits(self, members: Vector) -> Vector:
        """Return the log odds of the committee, or its mean of real targets.

        They are those of its members less k - 1 times the prior.

        Parameters
        ----------
        members : ndarray, shape (n, n_blocks)
            Decision values of every block's SVM, without biases.

        Returns
        -------
        ndarray, shape (n,), float64
        """
        total = members @ self.slope + self.intercept.sum()
        return np.asarray(total - (len(self.slope) - 1) * self.prior)


def fit_line(values: Vector, targets: Vector, weights: Vector) -> tuple[float, float, float]:
    """Return the least-squares line of targets by decision values, and what it explains.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Decision values of rows that the SVM was not trained on.
    targets : ndarray, shape (n,)
    weights : ndarray, shape (n,)
        How many rows each stands for.

    Returns
    -------
    slope, intercept : float
    explained : float
        Share of the targets' variance, in [0, 1): as of at least two rows more, whose residuals
        are those of the prior, so that no member is certain.
    """
    whole = float(weights.sum())
    if whole <= 0.0:
        return 0.0, 0.0, 0.0
    centre, mean = float(weights @ values) / whole, float(weights @ targets) / whole
    far, off = values - centre, targets - mean
    spread, total = float(weights @ far**2), float(weights @ off**2)
    if spread <= _ROUNDING * float(weights @ values**2) or total <= 0.0:
        return 0.0, mean, 0.0
    slope = float(weights @ (far * off)) / spread
    explained = min(1.0, slope**2 * spread / total) * len(values) / (len(values) + 2.0)
    return slope, mean - slope * centre, explained


def fit_sigmoid(
    values: Vector, positive: NDArray[np.bool_], weights: Vector
) -> tuple[float, float]:
    """Return slope and intercept of the log odds as a linear function of decision values.

    Maximum likelihood with Platt's targets, which keep the odds finite, by Newton steps (Lin, Lin,
    Weng, "A Note on Platt's Probabilistic Outputs", Machine Learning 68, 2007).

    Parameters
    ----------
    values : ndarray, shape (n,)
        Decision values of rows that the SVM was not trained on.
    positive : ndarray of bool, shape (n,)
        Their classes.
    weights : ndarray, shape (n,)
        How many rows each stands for.
    """
    n_positive = float(weights[positive].sum())
    n_negative = float(weights[~positive].sum())
    high, low = (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0)
    target = np.where(positive, high, low)
    slope, intercept = 0.0, float(np.log((n_positive + 1.0) / (n_negative + 1.0)))
    if not len(values):
        return slope, intercept
    loss = _loss(slope * values + intercept, target, weights)
    for _ in range(_ITERATIONS):
        p = 1.0 / (1.0 + np.exp(-np.clip(slope * values + intercept, -500, 500)))
        off, curve = weights * (p - target), weights * p * (1.0 - p)
        gradient = np.array([np.dot(values, off), off.sum()])
        if np.abs(gradient).max() < _LEAST_DERIVATIVE:
            break
        cross = float(np.dot(values, curve))
        hessian = np.array([[float(np.dot(values**2, curve)), cross], [cross, float(curve.sum())]])
        step = -np.linalg.solve(hessian + _RIDGE * np.eye(2), gradient)
        length, fall = 1.0, float(np.dot(gradient, step))
        while length >= _SHORTEST_STEP:
            trial = slope + length * step[0], intercept + length * step[1]
            found = _loss(trial[0] * values + trial[1], target, weights)
            if found < loss + 1e-4 * length * fall:
                break
            length *= 0.5
        else:
            break
        (slope, intercept), loss = trial, found
    return float(slope), float(intercept)


def _loss(logit: Vector, target: Vector, weights: Vector) -> float:
    return float(np.dot(weights, np.logaddexp(0.0, logit) - target * logit))
