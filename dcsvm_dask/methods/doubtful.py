"""Signs that a model of classes will not predict well, by the records of its run.

Nearly all rows are support vectors, one class is predicted for all rows, or hardly a row of a class
is predicted right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import is_linear
from dcsvm_dask.storage.node import Record
from dcsvm_dask.tasks import TASKS

LEAST_ROWS = 100
"""Of fewer rows nearly all may well be support vectors, or decided alike."""
MOST_SUPPORT = 0.9
"""Share of support vectors above which a model is doubtful."""
LEAST_CLASS_ROWS = 50
"""Of fewer rows of a class all may well be predicted wrong."""
LEAST_RECALL = 0.02
"""Share of a class's rows that is predicted right, below which the class counts as missed."""
MOST_NAMED = 3
"""Missed classes that a warning names."""
REMEDY_LINEAR = "scale the features (`dcsvm ingest --scale auto`), or give a larger `-C`"
REMEDY = (
    "scale the features (`dcsvm ingest --scale auto`), give `--gamma scale`, or let `dcsvm search` "
    "choose C and gamma"
)
RARE = (
    "for rare classes give `--class-weight balanced`, with which `dcsvm search` and `dcsvm easy` "
    "score by balanced accuracy (`--scoring`)"
)
HELD_OUT = "held-out rows"


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


def doubtful_model_warnings(
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
    remedy = REMEDY_LINEAR if is_linear(settings.get("kernel", {}).get("name")) else REMEDY
    support = record.get("support") or 0
    # With a squared loss all rows within the margin are support vectors, however little.
    squared = options.get("squared", False)
    usual = options.get("nu", 0.0) < MOST_SUPPORT and "outputs" not in record and not squared
    if usual and variables >= LEAST_ROWS and support > MOST_SUPPORT * variables:
        found.append(
            f"{support:,} of {variables:,} distinct rows ({support / variables:.0%}) are support "
            f"vectors; such a model predicts new rows badly as a rule: {remedy}"
        )
    label, count, rows = score.get("always") or record.get("always") or (None, 0, "")
    if count >= LEAST_ROWS:
        found.append(
            f"the model predicts class {label!r} for all of {count:,} {rows}, which have several: "
            f"{remedy}; {RARE}"
        )
    elif score.get("missed"):
        found.append(missed_classes_warning(score["missed"], HELD_OUT))
    return found


def about_classes(
    predicted: NDArray[Any], true: NDArray[Any], classes: list[Any], rows: str
) -> Record:
    """Return what an accuracy does not tell, as an entry of a record.

    Parameters
    ----------
    predicted, true, classes, rows
        As `always` has them.

    Returns
    -------
    dict
        ``largest_class``, the share of the class with the most rows, in [0, 1]; ``missed``, see
        `missed`, where there are such classes; and what `always` returns.
    """
    counts = np.bincount(true, minlength=len(classes))
    right = np.bincount(true[predicted == true], minlength=len(classes))
    lost = missed(classes, right.tolist(), counts.tolist())
    return {
        "largest_class": float(counts.max() / max(1, len(true))),
        **({"missed": lost} if lost else {}),
        **always(predicted, true, classes, rows),
    }


def missed(
    classes: Sequence[Any], right: Sequence[int], rows: Sequence[int]
) -> list[tuple[Any, int, int]]:
    """Return the classes of which hardly a row is predicted right: label, right rows and rows.

    Parameters
    ----------
    classes, right, rows : sequence
        The label of each class, how many of its rows are predicted right, and its rows.
    """
    every = zip(classes, right, rows, strict=True)
    return [one for one in every if one[2] >= LEAST_CLASS_ROWS and one[1] < LEAST_RECALL * one[2]]


def missed_classes_warning(classes: Sequence[Sequence[Any]], rows: str) -> str:
    """Return the warning of classes of which hardly a row is predicted right.

    Parameters
    ----------
    classes : sequence of (label, right, n)
        What `missed` returns; at least one.
    rows : str
        Which rows these are.
    """
    some = classes[:MOST_NAMED]
    named = ", ".join(f"class {label!r} ({right:,} of {n:,} {rows})" for label, right, n in some)
    more = len(classes) - len(some)
    others = f" and {more:,} more" if more else ""
    return f"the model hardly ever predicts {named}{others} right: {RARE}"


def codes_by_sign(decision: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the codes of two classes by decision values."""
    return (decision > 0).astype(np.intp)
