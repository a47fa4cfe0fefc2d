"""Labels: what counts as one class, their order, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import LabelTable, canonical, choose_classes


def table(*blocks: Any) -> LabelTable:
    found = LabelTable("FILE")
    for block in blocks:
        found.add(np.asarray(block))
    return found


@pytest.mark.parametrize("value", [1, 1.0, "1", "+1", "1.0", " 1 ", "1e0", True, np.uint8(1)])
def test_one_number_is_one_class(value: Any) -> None:
    label = canonical(value)
    assert label == 1
    assert type(label) is int


@pytest.mark.parametrize(
    ("value", "label"), [("a b ", "a b"), (0.5, 0.5), ("0.50", 0.5), ("1_0", "1_0")]
)
def test_other_labels(value: Any, label: Any) -> None:
    assert canonical(value) == label


@pytest.mark.parametrize(
    ("blocks", "classes"),
    [
        ([[1, -1, 1]], [-1, 1]),
        ([[2.0, 1.0], [1.5]], [1, 1.5, 2]),
        ([["yes", "no"]], ["no", "yes"]),
        ([np.array(["yes", "no"], object), np.array([b"no", b"a"])], ["a", "no", "yes"]),
        ([np.array(["x", "1"], np.dtypes.StringDType())], [1, "x"]),
        ([["10", "9"], ["x"]], [9, 10, "x"]),
        ([[True, False]], [0, 1]),
        ([[10**17 + 1, 3]], [3, 10**17 + 1]),
    ],
)
def test_classes_are_sorted(blocks: Any, classes: Any) -> None:
    found, codes = choose_classes(table(*blocks), None)
    assert found == classes
    assert [found[codes[label]] for label in found] == found


def test_codes_and_counts_over_blocks() -> None:
    found = LabelTable("FILE")
    first = found.add(np.array([5, 3, 5]))
    second = found.add(np.array(["3", "b"]))
    assert [found.labels[c] for c in [*first, *second]] == [5, 3, 5, 3, "b"]
    assert found.counts == [2 if v != "b" else 1 for v in found.labels]
    assert {v: found.first_rows[k] for k, v in enumerate(found.labels)} == {5: 0, 3: 1, "b": 4}


def test_positive_labels_make_two_classes() -> None:
    classes, codes = choose_classes(table([0, 1, 2, 3]), ["3", 1.0])
    assert classes == [-1, 1]
    assert codes == {0: 0, 1: 1, 2: 0, 3: 1}
    assert choose_classes(table(["a", "b", "c"]), ["a"])[1] == {"a": 1, "b": 0, "c": 0}
    with pytest.raises(InputError, match=r"--positive 7: FILE has no such label, but 0, 1"):
        choose_classes(table([0, 1]), ["7"])
    with pytest.raises(InputError, match="has every label of FILE"):
        choose_classes(table([0, 1]), [0, 1])


@pytest.mark.parametrize("bad", [[1.0, np.nan], [1.0, np.inf], ["a", ""], ["a", "nan"], ["a", "?"]])
def test_missing_labels_are_refused(bad: Any) -> None:
    found = table([1, 2, 3])
    with pytest.raises(InputError, match=r"FILE: row 4 .* has no label"):
        found.add(np.asarray(bad))


def test_labels_that_are_no_classes_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be classes: 5000 or more distinct"):
        table(np.arange(5000) / 7)
    with pytest.raises(InputError, match=r"cannot be classes: 1[0-9]+ or more distinct"):
        table(*np.arange(2000).reshape(20, 100))
    found = table(np.arange(100) % 51)
    with pytest.raises(
        InputError, match="cannot be classes: 51 or more distinct values in 100 rows"
    ):
        found.check_classes()
    table(np.arange(100) % 50).check_classes()
    table([1, 2]).check_classes()
    with pytest.raises(InputError, match="every row has the label 4"):
        table([4, 4, 4]).check_classes()
    for bad in ([1j, 2], np.array(["a", None], object)):
        with pytest.raises(InputError, match="neither numbers nor strings"):
            table(bad)
