"""Models of many classes by their scheme, and what their decision values mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.models.many import ManyModel
from dcsvm_dask.models.pairs import PairsModel, confidences, winners
from dcsvm_dask.models.rest import RestModel

Vector = NDArray[np.float64]

MODELS: dict[str, type[ManyModel]] = {"ovo": PairsModel, "ovr": RestModel}


def winning_classes(values: Vector, n_classes: int, scheme: str = "ovo") -> NDArray[np.int64]:
    """Return the class that each row is decided for.

    Parameters
    ----------
    values : ndarray, shape (n, n_machines), of two classes (n,)
        Decision values.
    n_classes : int
    scheme : {"ovo", "ovr"}
        One against one: the class with the most votes of its pairs, see `winners`. One against the
        rest: that of the largest decision value; of equal ones the first. Of two classes the second
        where the value is above 0.
    """
    if n_classes == 2:
        return (values > 0).astype(np.int64)
    return decided_classes(values, n_classes, scheme)


def decided_classes(values: Vector, n_classes: int, scheme: str) -> NDArray[np.int64]:
    """Return the class that all machines decide each row for, as `winning_classes`.

    Parameters
    ----------
    values : ndarray, shape (n, n_machines)
        Above 0 for a machine's positive class; of two classes that is the first.
    """
    return np.asarray(np.argmax(values, axis=1)) if scheme == "ovr" else winners(values, n_classes)


def values_of_classes(values: Vector, n_classes: int, scheme: str = "ovo") -> Vector:
    """Return what users see of decision values: of many classes a value for each of them.

    See `confidences` for one against one; else they are the decision values as they are.
    """
    return confidences(values, n_classes) if n_classes > 2 and scheme == "ovo" else values
