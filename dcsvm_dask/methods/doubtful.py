"""Signs that a model of classes will not predict well, by the records of its run.

Nearly all rows are support vectors, or one class is predicted for all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.storage.node import Record
from dcsvm_dask.tasks import TASKS

LEAST_ROWS = 100
"""Of fewer rows nearly all may well be support vectors, or decided alike."""
MOST_SUPPORT = 0.9
"""Share of support vectors above which a model is doubtful."""
REMEDY = (
    "scale the features (`dcsvm ingest --scale auto`), give `--gamma scale`, or let `dcsvm search` "
    "choose C and gamma"
)


def always(predicted: NDArray[Any], true: NDArray[Any], classes: list[Any], rows: str) -> Record:
    """Return which class is predicted for all rows, where they have several; else nothing.

    Parameters
    ----------
    predicted, true : ndarray, shape (n,)
        Codes of the predicted and of the true classes.
    classes : list
        Label of each code.
    rows : str
        Which rows these are, for messages.

    Returns
    -------
    dict
        ``always`` with the label, the number of rows and `rows`; or empty.
    """
    if not len(predicted) or (predicted != predicted[0]).any() or (true == true[0]).all():
        return {}
    return {"always": [classes[int(predicted[0])], len(predicted), rows]}


def told_of_doubts(
    settings: dict[str, Any], record: Record, score: Record, variables: int
) -> list[str]:
    """Return the texts of the warnings of a model; none where nothing is wrong with it.

    Parameters
    ----------
    settings : dict
        Those of the run, as its header has them.
    record, score : dict
        Of the commit of the model, and of its scores on held-out rows; empty without any.
    variables : int
        Distinct rows that the model was trained on; 0: not known.
    """
    task, options = settings.get("task", "classification"), settings.get("task_options") or {}
    if not TASKS[task].has_classes or record.get("isolated"):  # that is said already
        return []
    found = []
    support = record.get("support") or 0
    # With a squared loss all rows within the margin are support vectors, however little.
    squared = options.get("squared", False)
    usual = options.get("nu", 0.0) < MOST_SUPPORT and "outputs" not in record and not squared
    if usual and variables >= LEAST_ROWS and support > MOST_SUPPORT * variables:
        found.append(
            f"{support:,} of {variables:,} distinct rows ({support / variables:.0%}) are support "
            f"vectors; such a model predicts new rows badly as a rule: {REMEDY}"
        )
    label, count, rows = score.get("always") or record.get("always") or (None, 0, "")
    if count >= LEAST_ROWS:
        found.append(
            f"the model predicts class {label!r} for all of {count:,} {rows}, which have several: "
            f"{REMEDY}; for rare classes give `--class-weight balanced`"
        )
    return found


def codes_by_sign(decision: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the codes of two classes by decision values."""
    return (decision > 0).astype(np.intp)
