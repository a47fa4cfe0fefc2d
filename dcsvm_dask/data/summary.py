"""What a data set holds and how its source was read, in short lines for users."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.readers.preparing.described import form_of_numbers
from dcsvm_dask.readers.source import SVMLIGHT
from dcsvm_dask.storage.dataset import DataSet

SEPARATORS = {" ": "blanks", "\t": "tab"}
SHOWN_CLASSES = 10
SHOWN_COLUMNS = 10


def summary_lines(data: DataSet) -> list[str]:
    """Return the label, the classes with their counts, and what the columns became.

    Parameters
    ----------
    data : DataSet
        A training part.

    Returns
    -------
    list of str
        `dcsvm info` prints all of it.
    """
    label = label_of(reading_of(data))
    lines = [] if label is None else [f"label: {label}"]
    if data.classes:
        pairs = list(zip(data.classes, data.counts, strict=True))
        named = [f"{label} {count:,}" for label, count in pairs[:SHOWN_CLASSES]]
        more = f" and {len(pairs) - SHOWN_CLASSES:,} more" if len(pairs) > SHOWN_CLASSES else ""
        lines.append(f"classes of the training rows: {', '.join(named)}{more}")
    elif data.targets is not None:
        low, high = (f"{data.targets[key]:.6g}" for key in ("least", "most"))
        lines.append(f"targets of the training rows: {low} to {high}")
    made = described(data)
    lines += [f"column {text}" for text in made[:SHOWN_COLUMNS]]
    if len(made) > SHOWN_COLUMNS:
        lines.append(f"and {len(made) - SHOWN_COLUMNS:,} more: dcsvm info {data.place}")
    return lines


def described(data: DataSet) -> list[str]:
    """Return what becomes of the columns that are not plain numbers, the targets last."""
    made = [] if data.columns is None else data.columns.described()
    form = data.reading.get("target_form")
    if data.targets is None or not form:
        return made
    return [*made, f"{data.reading.get('label') or 'the target'}: {form_of_numbers(form)}"]


def reading_of(data: DataSet) -> dict[str, Any]:
    """Return how the source was read: format, label, header, separator, encoding, first index.

    ``first_index`` is the index of feature 0 in svmlight text, 0 or 1.
    """
    reading = data.reading
    is_svmlight = reading.get("format") == SVMLIGHT
    is_text = reading.get("separator") is not None
    return {
        "format": reading.get("format"),
        "label": reading.get("label"),
        "label_position": reading.get("position"),
        "header": data.feature_names is not None if is_text else None,
        "separator": reading.get("separator"),
        "encoding": reading.get("encoding"),
        "first_index": reading.get("first_feature") if is_svmlight else None,
        "index": list(reading.get("index") or ()),
    }


def reading_line(reading: dict[str, Any]) -> str:
    """Return how the source was read, for users."""
    text = f"read as {reading['format']}"
    if reading["header"] is not None:
        separator = SEPARATORS.get(reading["separator"], f"{reading['separator']!r}")
        text += f" with{'' if reading['header'] else 'out'} a header, separator {separator}"
    if reading["first_index"] is not None:
        text += f", feature 0 is index {reading['first_index']}"
    if reading["encoding"] is not None:
        text += f", encoding {reading['encoding']}"
    if reading["index"]:
        named = ", ".join(map(repr, reading["index"]))
        text += f" without the index of pandas, {named} (--columns takes it)"
    label = label_of(reading)
    if label is not None:
        text += f"; label: {label}"
    elif reading["format"] == SVMLIGHT:
        text += "; label: the first number of a line"
    elif reading["format"] is not None:
        text += "; label: given beside the rows"
    return text


def label_of(reading: dict[str, Any]) -> str | None:
    """Return which column or array is the label, for users; None where there is none.

    A column with a name has no number here: after --drop it would be another one than in the file.
    """
    name, position = reading["label"], reading["label_position"]
    if name is not None:
        return f"column {name!r}" if position is not None else repr(name)
    return None if position is None else f"column {position + 1} (--label {position})"
