"""What an ingest warns of: features, labels and columns that may mean something else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dcsvm_dask.data.codes import codes_warnings, target_dates_warning
from dcsvm_dask.data.leaks import columns_of, leaks, leaks_warning
from dcsvm_dask.data.row_sample import RowSample
from dcsvm_dask.data.sentinel_dates import columns_of_dates, sentinel_dates_warnings
from dcsvm_dask.data.sentinels import (
    CELLS,
    FEATURES,
    TEXT,
    looks_missing,
    outliers_warnings,
    sentinels,
    sentinels_warnings,
    target_sentinels_warnings,
)
from dcsvm_dask.data.serial_dates import serial_dates_warning
from dcsvm_dask.data.target_leaks import target_leaks, target_leaks_warning
from dcsvm_dask.masking import masked
from dcsvm_dask.numbers import counted
from dcsvm_dask.readers.columns import listed
from dcsvm_dask.readers.extra_lines import last_cells
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.readers.preparing.cells import DASHES, FLAGS, MISSING_WORDS
from dcsvm_dask.readers.preparing.doubts import spelled_alike
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.preparing.text_columns import text_of
from dcsvm_dask.readers.preparing.thousands import (
    commas_doubts_of_target,
    thousands_doubts,
    thousands_doubts_of_target,
)
from dcsvm_dask.readers.preparing.totals import totals_doubt
from dcsvm_dask.readers.preparing.versions import versions_doubts
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.survey import Survey
from dcsvm_dask.storage.rounding import RoundingLoss

FEW_ROWS, FEW_SHARE = 10, 1e-3
"""Rows of a class, and their share of all, below which it may be a mistake."""

MANY_CLASSES = 20
"""Classes from which on numbers may be real targets."""


def doubts_of(
    source: Source,
    survey: Survey,
    loss: RoundingLoss,
    *,
    labels: Sequence[Label],
    classes: Sequence[Label],
    counts: Sequence[int],
    held_out: Sequence[int] | None,
    sample: RowSample | None,
    codes: Sequence[int] | None,
    y: Any,
    to_end: bool,
) -> list[str]:
    """Return the warnings for the user.

    Parameters
    ----------
    source : Source
    survey : Survey
    loss : RoundingLoss
    labels : sequence
        The labels of the source; empty of targets.
    classes : sequence
        What they became.
    counts : sequence of int
        Training rows of each class.
    held_out : sequence of int or None
        Rows of each class that a test fraction holds out; None: there are none.
    sample : RowSample or None
        Rows with their labels.
    codes : sequence of int or None
        The class of each label; None of targets.
    y : LabelTable, TargetTable or SignTable
        What has read the labels or targets.
    to_end : bool
        Whether the last row of the source is among those that were read.
    """
    texts = [loss.warning(source.feature_names), _of_held_out(classes, counts, held_out)]
    if not hasattr(source, "about"):  # a data set was checked at its ingest
        texts.insert(0, _of_targets(labels, classes, counts))
        texts = [*_of_features(source.feature_names, survey), *texts]
        if source.feature_names is not None:  # a table that people have written
            texts += getattr(source, "doubts", ())
            texts += [totals_doubt(source) if to_end else None, _of_forms(source, labels)]
            some = None if sample is None else sample.read()[0]
            texts += thousands_doubts(source, survey.mixed(), some)
            texts += [_of_labels(labels), _of_flags(classes), _of_classes(classes, counts)]
            texts.append(_of_missing(labels, is_prepared=isinstance(source, PreparedSource)))
            if getattr(y, "has_comma", False):
                texts += commas_doubts_of_target(source)
        if sample is not None:
            texts += _of_sample(source, survey, sample, codes)
    return [f"{masked(source.name)}: {text}" for text in texts if text is not None]


def _of_features(names: Sequence[str] | None, survey: Survey) -> list[str]:
    found = []
    numbered = survey.index_like(names)
    if numbered:
        what = (
            "feature looks like a row number"
            if len(numbered) == 1
            else "features look like row numbers"
        )
        found.append(
            f"{len(numbered)} {what}, such as the index that pandas writes: "
            f"{_called(numbered, names)}; drop columns that mean nothing for other rows (--drop "
            "NAME, in Python drop=[NAME], or to_csv(index=False) where the file is written)"
        )
    identifying = survey.id_like(names)
    if identifying:
        what = (
            "feature looks like an identifier"
            if len(identifying) == 1
            else "features look like identifiers"
        )
        found.append(
            f"{len(identifying)} {what}, by name and by distinct whole numbers: "
            f"{_called(identifying, names)}; drop what identifies rows and says nothing of others "
            "(--drop NAME, in Python drop=[NAME])"
        )
    return found


def _of_sample(
    source: Source, survey: Survey, sample: RowSample, codes: Sequence[int] | None
) -> list[str | None]:
    """Return warnings by a sample: values for missing cells, and columns that predict the label."""
    rows, labels = sample.read()
    if not len(rows):
        return []
    names, is_all = source.feature_names, sample.is_all
    # Columns of svmlight text are counted as its indices are.
    shown = [f"feature {k}" for k in range(rows.shape[1])] if names is None else names
    reading: Any = getattr(source, "reading", None)
    is_text = getattr(reading, "separator", None) is not None
    of_dates = {j for _, own in columns_of_dates(source) for j in range(own.start, own.stop)}
    found = sentinels(rows, *survey.limits(rows.shape[1]))
    found = [one for one in found if one.feature not in of_dates]
    how = TEXT if is_text else FEATURES if names is None else CELLS
    named_values = {one.feature for one in found}
    low, high = survey.limits(rows.shape[1])
    others = [j for j in range(rows.shape[1]) if j not in named_values | of_dates]
    texts: list[str | None] = [
        *outliers_warnings(
            rows[:, others],
            low[others],
            high[others],
            [shown[j] for j in others],
            is_all=is_all,
        ),
        *sentinels_warnings(found, shown, how=how, is_all=is_all),
        *sentinel_dates_warnings(source, rows, is_text=is_text, is_all=is_all),
    ]
    # Row numbers and identifiers, of which a sorted table has such, are named already.
    named = {*survey.index_like(names), *survey.id_like(names)}
    columns = [one for one in columns_of(source, shown) if one[1].start not in named]
    drops = names is not None
    if names is not None:
        texts += codes_warnings(source, survey, rows)
        texts.append(serial_dates_warning(names, rows))
        texts += versions_doubts(source, rows)
    if codes is None:
        # A target may well rise from day to day.
        columns = [one for one in columns if one[1].start not in of_dates]
        same = target_leaks(rows, labels, columns)
        texts += target_sentinels_warnings(labels, is_all=is_all)
        texts.append(target_dates_warning(labels))
        texts.append(target_leaks_warning(same, len(rows), is_all=is_all, drops=drops))
        return [*texts, *(thousands_doubts_of_target(source, labels) if drops else ())]
    leaking = leaks(rows, np.asarray(codes, np.int64)[labels], columns)
    return [*texts, leaks_warning(leaking, len(rows), is_all=is_all, drops=drops)]


def _called(features: Sequence[int], names: Sequence[str] | None) -> str:
    return listed([str(k) if names is None else repr(names[k]) for k in features])


def _of_forms(source: Source, labels: Sequence[Label]) -> str | None:
    """Return that labels are written with leading zeros or exponents, which are lost."""
    table = text_of(source)
    names = None if table is None else table.names
    label = None if table is None else source.reading.label
    if table is None or names is None or label not in names or not labels:
        return None
    cells = last_cells(table, names.index(label))
    found = next((cell for cell in cells if re.fullmatch(r"0\d+|\d{1,9}[eE]\d{1,2}", cell)), None)
    if found is None:
        return None
    number = int(found) if found.isdigit() else int(float(found))
    if number not in labels:
        return None
    what = "leading zeros" if found.isdigit() else "exponents"
    others = "that differ by zeros alone" if found.isdigit() else "of the same number"
    return (
        f"labels are written with {what}, such as {found}, which is the class {number} "
        f"now, as others {others} are; put a letter before them where they are codes"
    )


def _of_labels(labels: Sequence[Label]) -> str | None:
    alike = spelled_alike(labels)
    if alike is None:
        return None
    return (
        f"labels differ only by case, blanks or Unicode form: {alike}; write them alike where they "
        "mean one class"
    )


def _of_missing(labels: Sequence[Label], *, is_prepared: bool) -> str | None:
    """Return the labels that look like none: words for no value, and numbers such as -999.

    Where columns are prepared, words for no value are refused or the user has chosen them.
    """
    found = (
        []
        if is_prepared
        else [repr(label) for label in labels if label in (*MISSING_WORDS, *DASHES)]
    )
    numbers = [label for label in labels if not isinstance(label, str)]
    found += [str(label) for label in numbers if looks_missing(label, numbers)]
    if not found:
        return None
    are, what = ("label means", "a class") if len(found) == 1 else ("labels mean", "classes")
    return (
        f"the {are} no value in many tables, but became {what}: {listed(found)}; where that is "
        "meant here, leave such rows out of the table"
    )


def _of_flags(classes: Sequence[Label]) -> str | None:
    """Return that more than two classes are words for yes and no; None where they are not."""
    words = [str(label) for label in classes]
    different = {word.lower() for word in words}
    if len(different) < 3 or not different <= {"0", "1", *itertools.chain(*FLAGS)}:
        return None
    return (
        f"the {len(words)} classes are all words for yes or no: {listed(words)}; write them alike "
        "where they mean the same"
    )


def _of_held_out(
    classes: Sequence[Label], counts: Sequence[int], held_out: Sequence[int] | None
) -> str | None:
    if not held_out:
        return None
    without = []
    for part, own, other in (("training", counts, held_out), ("test", held_out, counts)):
        rows = [*zip(classes, own, other, strict=True)]
        gone = [f"{label} ({there:,} in the other)" for label, here, there in rows if here < 1]
        if gone:
            without.append(f"the {part} part has no row of {listed(gone)}")
    if not without:
        return None
    return f"{'; '.join(without)}: give more rows of them, or another test fraction"


def may_be_targets(classes: Sequence[Label], counts: Sequence[int]) -> bool:
    """Return whether classes may be real targets: many numbers with gaps, most of few rows."""
    if len(classes) < MANY_CLASSES or not all(isinstance(one, int | float) for one in classes):
        return False
    if 2 * sum(count < FEW_ROWS for count in counts) <= len(classes):
        return False
    values = [float(label) for label in classes]
    numbered = max(values) - min(values) == len(values) - 1 and all(map(float.is_integer, values))
    return not numbered


def _of_targets(
    labels: Sequence[Label], classes: Sequence[Label], counts: Sequence[int]
) -> str | None:
    """Return that labels may be real targets."""
    if len(labels) != len(classes) or not may_be_targets(classes, counts):  # merged by --positive
        return None
    return (
        f"the labels are {len(classes):,} different numbers, most of them in fewer than {FEW_ROWS} "
        "of the training rows; each is a class now: where they are real targets, give "
        "--task regression (in Python task='regression')"
    )


def _of_classes(classes: Sequence[Label], counts: Sequence[int]) -> str | None:
    n = sum(counts)
    # Of fewer than 100 rows a tenth is enough.
    least = max(min(FEW_ROWS, n / 10), FEW_SHARE * n)
    pairs: list[tuple[Label, Any]] = list(zip(classes, counts, strict=True))
    few = [f"{label} ({count:,})" for label, count in pairs if count < least]
    if not few:
        return None
    what = "class has" if len(few) == 1 else "classes have"
    return (
        f"{len(few):,} {what} few of the {counted(n, 'training row')}: {listed(few)}; correct "
        "labels that are mistakes; `dcsvm train --class-weight balanced` weighs rare classes"
    )
