"""What a data set keeps of its source, and the doubts about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dcsvm_dask.data.doubtful import doubts_of
from dcsvm_dask.data.first_pass import Scanned
from dcsvm_dask.data.form import Form
from dcsvm_dask.data.scan import Table
from dcsvm_dask.readers.labels import Label, named_label
from dcsvm_dask.readers.source import Reading
from dcsvm_dask.readers.survey import RANGED
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.storage.rounding import RoundingLoss

SHOWN = 20
"""Number of features whose ranges are stored where there are more than `RANGED`."""


def about_source(
    found: Scanned,
    form: Form,
    loss: RoundingLoss,
    parts: dict[str, dict[str, Any]],
    positive: Sequence[Label] | None,
    header: bool | None,
) -> dict[str, Any]:
    """Return the properties of the source and the doubts about it, as JSON values."""
    source, y, has_classes = found.train.source, found.train.y, found.has_classes
    held_out = has_classes and found.test_order is not None
    about = {
        "positive": None,
        "feature_names": source.feature_names,
        "columns": _columns(source),
        "reading": {
            **asdict(getattr(source, "reading", Reading("source"))),
            "header": header,
            "first_feature": form.first_feature,
            **_target_form(y),
        },
        "ranges": found.survey.ranges(
            form.n_features if form.n_features <= RANGED else SHOWN, form.shift(found.train)
        ),
        "dropped": {
            "weight_0": found.train.left_out,
            "train_rows": _left_over(found.train.n_rows, found.order, found.test_order),
            **_with_missing_cells(source, found.test_source),
        },
        "warnings": doubts_of(
            source,
            found.survey,
            loss,
            labels=y.labels if has_classes else (),
            classes=form.classes if has_classes else (),
            counts=parts["train"]["counts"] if has_classes else (),
            held_out=parts["test"]["counts"] if held_out else None,
            sample=found.sample,
            codes=found.codes,
            y=y,
            to_end=found.to_end,
        ),
        # A data set as the source has properties of its own source.
        **getattr(source, "about", {}),
    }
    if positive is not None:
        about["positive"] = [named_label(one, y.labels, any_case=True) for one in positive]
    return about


def _columns(source: Any) -> dict[str, Any] | None:
    """Return how the columns of a source were made numbers, as JSON values."""
    made = getattr(source, "preparation", None)
    return None if made is None else dict(made.to_json())


def _target_form(y: Table) -> dict[str, str]:
    """Return the form of targets, where they are written with a sign."""
    form = y.form if isinstance(y, TargetTable) else None
    return {"target_form": form} if form else {}


def _with_missing_cells(*sources: Any) -> dict[str, int]:
    """Return how many rows were left out for missing cells, if any were."""
    count = sum(getattr(source, "n_left_out", 0) for source in sources)
    return {"missing": count} if count else {}


def _left_over(n: int, order: Any, test_order: Any) -> int:
    """Return the number of rows in neither part."""
    if order is None:
        return 0
    return int(n - len(order) - (0 if test_order is None else len(test_order)))
