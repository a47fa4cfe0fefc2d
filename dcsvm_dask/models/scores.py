"""How good predictions are: accuracy, balanced accuracy, the confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Scores:
    """Counts predictions block by block.

    Parameters
    ----------
    classes : list
        Labels in the order of their codes.
    """

    def __init__(self, classes: list[Any]) -> None:
        self._classes = classes
        self._counts = np.zeros((len(classes), len(classes)), dtype=np.int64)

    def update(self, true: NDArray[np.int32], predicted: NDArray[np.int32]) -> None:
        """Take the true and the predicted codes of some rows in."""
        k = len(self._classes)
        pairs = true.astype(np.int64) * k + predicted
        self._counts += np.bincount(pairs, minlength=k * k).reshape(k, k)

    def result(self) -> dict[str, Any]:
        """Return the scores as JSON values.

        Returns
        -------
        dict
            ``accuracy`` in [0, 1]; ``balanced_accuracy``, the mean over the classes that occur
            of the share of their rows that is predicted right (as scikit-learn defines it);
            ``confusion`` with ``labels`` and ``matrix`` (a row for each true class, a column for
            each predicted one); ``n_rows``.
        """
        n = int(self._counts.sum())
        rows = self._counts.sum(axis=1)
        right = np.diag(self._counts)
        occurs = rows > 0
        return {
            "accuracy": float(right.sum() / n) if n else 0.0,
            "balanced_accuracy": float(np.mean(right[occurs] / rows[occurs])) if n else 0.0,
            "confusion": {"labels": list(self._classes), "matrix": self._counts.tolist()},
            "n_rows": n,
        }
