"""How far kernel values and their sums from tiles are from the exact ones.

The model is that of Higham and Mary (A new approach to probabilistic rounding error analysis,
SIAM J. Sci. Comput. 41, 2019): roundings are independent with mean zero, so the error of an
inner product of d terms grows as sqrt(d), not d, and errors of kernel values, weighted by v, add
as squares.

For shift-invariant kernels the exponent's error is what counts. Two points at a distance D, seen
from a centre at distance r from the first, have |x| |z| <= r (r + D) <= 1.5 r^2 + 0.5 D^2. With
y = gamma D^2 and K = exp(-y), K y is at most (2 / e) sqrt(K), so the error of K is at most a
factor times sqrt(K), the factor growing with gamma r^2 only: that is why every tile has a centre
of its own, and why sum v^2 K, which costs one more sum over the same tile, bounds the variance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.kernel import Kernel
from dcsvm_dask.kernels.kinds import L1_DISTANCE

CONFIDENCE = 5.0
"""Standard deviations between the model and what is promised."""


def decay_error(kernel: Kernel, dtype: Any, features: int, radius: float) -> float:
    """Return the deviation of a kernel value divided by its square root (shift-invariant kernels).

    Parameters
    ----------
    kernel : Kernel
    dtype : float32 or float64
        Precision of the tile.
    features : int
        Terms of a sum over features.
    radius : float
        Largest norm of a row of the tile as it is stored, from its centre (for L1 distances: L1
        norm); 0 where distances come from differences.
    """
    spread = 2 * radius if kernel.kind.argument == L1_DISTANCE else 3 * radius**2
    return unit(dtype) * (0.5 + _terms(features) * (kernel.gamma * spread + 2 / math.e))


def decay_radius(kernel: Kernel, dtype: Any, features: int, error: float) -> float:
    """Return the largest radius for which `decay_error` is at most `error`; 0 if there is none."""
    spread = ((error / unit(dtype) - 0.5) / _terms(features) - 2 / math.e) / kernel.gamma
    spread = max(spread, 0.0)
    return spread / 2 if kernel.kind.argument == L1_DISTANCE else math.sqrt(spread / 3)


def dot_error(
    kernel: Kernel, dtype: Any, features: int, radius: float, norms: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the deviation of K(x, z_j) for every norm ||z_j||, where ||x|| <= radius.

    For kernels of inner products.
    """
    error = kernel.kind.error
    assert error is not None
    return error(kernel, unit(dtype), _terms(features), radius, norms)


def whole_sums_error(size: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """Return a bound on the error of sums of float32 kernel values whose distances are exact.

    Distances take few values, so errors are alike and add up: this one is no model. The exponent y
    is rounded with the factor of the distance and once more, K with the exponential: the error of K
    is at most (2 y + 2) K units. As -K log K is concave, the sum of |v_j| K y is largest where all
    kernel values are the same.

    Parameters
    ----------
    dtype : float32 or float64
        Precision of the tile.
    size : ndarray, shape (n,)
        Sums of |v_j| K(x_i, z_j).
    weight : float
        The sum of |v_j|.
    """
    mean = np.clip(size / max(weight, np.finfo(float).tiny), np.finfo(float).tiny, 1.0)
    return np.asarray(unit(np.float32) * 2 * size * (1 - np.log(mean)) + 2.0**-100 * weight)


def unit(dtype: Any) -> float:
    """Unit roundoff of float32 or float64."""
    return 2.0**-24 if dtype == np.float32 else 2.0**-53


def _terms(features: int) -> float:
    return 0.3 + 0.1 * math.sqrt(features)
