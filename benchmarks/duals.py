"""The dual objective and the duality gap of every task's SVM, in float64 with a dense matrix.

Nothing of the package is used here, so that it can judge the package and its peers alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

Vector = NDArray[np.float64]
Figures = dict[str, Any]
FREE = 1e-6
NAMED = {"rbf": ("gamma",), "poly": ("gamma", "coef0", "degree"), "linear": ()}
NAMED["sigmoid"] = ("gamma", "coef0")


def kernel_matrix(X: Any, Z: Any, words: Figures) -> Vector:
    """Return the kernel values of rows with others, float64."""
    X, Z = (part.astype(np.float64) for part in (X, Z))
    chosen = {name: words[name] for name in NAMED[words["kernel"]]}
    return np.asarray(pairwise_kernels(X, Z, metric=words["kernel"], **chosen))


@dataclass(frozen=True)
class Judged:
    """What a solution is worth.

    Attributes
    ----------
    objective : float
        The dual objective, minimised; of nu-SVC before the division by rho.
    gap : float
        The primal value above it, at the solution's own bias; rho and the tube of a nu-SVM are the
        best for it.
    outside : float
        How far the solution is from feasible, relative to its bounds and sums.
    multiplier : float
        rho of nu-SVC and of the one-class SVM, epsilon of nu-SVR; else 0.
    """

    objective: float
    gap: float
    outside: float
    multiplier: float


@dataclass(frozen=True)
class SVM:
    """One dual problem.

    Attributes
    ----------
    task : str
        One of `benchmarks.proofs.TASKS`.
    K : ndarray, shape (n, n)
    target : ndarray, shape (n,)
        -1 and +1, or real; 1 of the one-class SVM.
    weight : ndarray, shape (n,)
        C of each row, above 0; of nu-SVC and of the one-class SVM its weight.
    words : dict
        With ``epsilon``, ``nu`` or ``quantile``.
    """

    task: str
    K: Vector
    target: Vector
    weight: Vector
    words: Figures

    @property
    def size(self) -> float:
        """Return the sum of the sizes of the variables that a nu-SVM has."""
        return float(self.words["nu"] * self.weight.sum())

    @property
    def flat(self) -> float:
        """Return the rho of a nu-SVM below which it is 0: two sets touch, or one the origin."""
        return 1e-4 * self.size * float(np.abs(self.K).max())

    @property
    def least(self) -> float:
        """Return the least size of an objective that another is compared with."""
        least = float(np.finfo(float).tiny)
        return 0.5 * self.size * self.flat if self.task in ("nu_svc", "one_class") else least

    def bounds(self) -> tuple[Vector, Vector]:
        """Return the bounds of the variables."""
        C, y, none = self.weight, self.target, np.zeros_like(self.weight)
        if self.task in ("svc", "nu_svc"):
            return np.where(y > 0, none, -C), np.where(y > 0, C, none)
        if self.task == "squared_svc":
            return np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)
        if self.task == "squared_svr":
            return none - np.inf, none + np.inf
        if self.task == "quantile":
            return C * (self.words["quantile"] - 1.0), C * self.words["quantile"]
        return (none if self.task == "one_class" else -C), C

    def judge(self, beta: Vector, bias: float) -> Judged:
        """Return what a solution is worth.

        Parameters
        ----------
        beta : ndarray, shape (n,)
            Coefficients of the rows in the decision function.
        bias : float
        """
        scale = 1.0
        if self.task == "nu_svc":
            scale = self.size / max(float(np.abs(beta).sum()), np.finfo(float).tiny)
        beta, bias = beta * scale, bias * scale
        own = self.K @ beta
        half = 0.5 * float(beta @ own)
        f, linear = own + bias, 0.0
        if "sv" in self.task and self.task != "nu_svc":
            # The sum of beta is 0: centred, a large offset of the targets does not cancel.
            middle = 0.0 if "svc" in self.task else float(np.mean(self.target))
            linear = -float(beta @ (self.target - middle))
        if self.task == "quantile":
            linear = -float(beta @ (self.target - np.mean(self.target)))
        dual = half + linear + float(self.words.get("epsilon", 0.0) * np.abs(beta).sum())
        if self.task.startswith("squared"):
            dual += float((beta**2 / (4.0 * self.weight)).sum())
        loss, multiplier = self.loss(f, bias)
        return Judged(dual, dual + half + loss, self.outside(beta), multiplier)

    def loss(self, f: Vector, bias: float) -> tuple[float, float]:
        """Return the loss of decision values and the multiplier at which it is that."""
        C, y, task = self.weight, self.target, self.task
        if task in ("svc", "squared_svc"):
            short = np.maximum(0.0, 1.0 - y * f)
            return float(C @ (short if task == "svc" else short**2)), 0.0
        if task in ("svr", "squared_svr"):
            far = np.maximum(0.0, np.abs(y - f) - self.words["epsilon"])
            return float(C @ (far if task == "svr" else far**2)), 0.0
        if task == "quantile":
            tau, left = self.words["quantile"], y - f
            return float(C @ np.maximum(tau * left, (tau - 1.0) * left)), 0.0
        if task == "one_class":
            return float(C @ np.maximum(0.0, -f)) + self.size * bias, -bias
        if task == "nu_svc":
            return _least(lambda rho: C @ np.maximum(0.0, rho - y * f) - self.size * rho, y * f)
        far = np.abs(y - f)
        tried = np.append(far, 0.0)
        return _least(lambda tube: C @ np.maximum(0.0, far - tube) + self.size * tube, tried)

    def outside(self, beta: Vector) -> float:
        """Return how far coefficients are from feasible."""
        low, high = self.bounds()
        most, total = float(self.weight.max()), float(np.abs(beta).sum())
        found = [float(np.max(np.maximum(low - beta, beta - high), initial=0.0)) / most]
        sums = float(beta.sum()) - (self.size if self.task == "one_class" else 0.0)
        found.append(abs(sums) / max(total, most))
        if self.task == "nu_svr":
            found.append(max(0.0, total - self.size) / self.size)
        return max(found)

    def is_free(self, beta: Vector) -> bool:
        """Return whether a variable is clearly within its bounds, so that the bias is unique."""
        low, high = self.bounds()
        if self.task == "nu_svc":
            beta = beta * (self.size / max(float(np.abs(beta).sum()), np.finfo(float).tiny))
        room = FREE * (np.abs(beta).max() if np.isinf(high).any() else self.weight)
        free = (beta > low + room) & (beta < high - room)
        if self.task in ("svr", "squared_svr", "nu_svr") and self.words.get("epsilon", 1.0) > 0:
            free &= np.abs(beta) > room
        if self.task in ("nu_svc", "nu_svr"):  # two multipliers, one of each sign
            return bool((free & (beta > 0)).any() and (free & (beta < 0)).any())
        return bool(free.any())


def _least(value: Any, tried: Vector) -> tuple[float, float]:
    """Return the least value of a convex function that bends at some points, and where."""
    found = np.array([value(float(one)) for one in tried])
    best = int(np.argmin(found))
    return float(found[best]), float(tried[best])
