"""Damaged copies of files, and how many of them a test looks at."""

from __future__ import annotations

import copy
import json
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dcsvm_dask.errors import DcsvmError
from tests.marks import soak

MANY = 5
"""How many times as many inputs the soak tests look at."""

ODD_TEXT = (
    *("nan", "-inf", "1e999", "1e-999", "-0", "0x1p3", "1_0", "+", "-", ".", "e5", "9" * 400),
    *("18446744073709551616", "2147483647", "2147483648:1", "-1:1", ":", "1:", "a:b", "qid:1"),
    *('"', '""', '"a', "'", ",", ";", "|", "\t", "\n", "\r", "\r\n", "\n\n", "#", "\ufeff", "\0"),
    *("é", "\u2028", "\x0c", "\x1c", "\x85", "١", "label", "?", " ", "{", "[", "=", "'''"),
)
CHANGES = ("flip", "put", "put", "over", "cut", "off", "double", "lines", "swap")
ODD_BYTES = (*(word.encode() for word in ODD_TEXT), b"\xff\xfe", b"\xff", b"\x80", b"\xe9")
ODD_JSON: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2, 7, 10**6, 2**31, 2**63, 2**64, 10**30, 10**400, -(10**30)),
    *(0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), float("-inf")),
    *("", "x", "nan", "../..", "/", "a/b", "\0", "é" * 300, "\ud800", "__class__"),
    *([], [None], [0], [[]], ["x", 1], {}, {"": None}, {"a": {"b": []}}),
)


def fuzz(
    check: Callable[[Any], None],
    strategy: SearchStrategy[Any],
    count: int,
    known: Iterable[Any] = (),
) -> None:
    """Check so many inputs, always the same ones, and before them those that once went wrong."""
    test = given(strategy)(check)
    for value in known:
        test = example(value)(test)
    settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )(test)()


def inputs(count: int) -> Any:
    """Give a test `count`; as a soak, a multiple of it."""
    return pytest.mark.parametrize(
        "count",
        [pytest.param(count, id="some"), soak(MANY * count)],
    )


def check_message(error: Exception, place: str) -> None:
    """Check that a refusal says where, in a text of bearable length."""
    assert place in str(error), error
    assert len(str(error)) < 2000, error


def check_copies(
    whole: Path, copied: Path, answers: Callable[[Path], Any], *, same: bool = True
) -> Callable[[tuple[str, bytes]], None]:
    """Return a check of (key, bytes): a copy of a folder with these bytes there answers or refuses.

    Parameters
    ----------
    answers : callable
        Returns arrays for a folder.
    same : bool
        Whether the arrays have to be those of the folder as it was.
    """
    shutil.copytree(whole, copied)
    expected = answers(copied)

    def check(change: tuple[str, bytes]) -> None:
        shutil.rmtree(copied)
        shutil.copytree(whole, copied)
        (copied / change[0]).write_bytes(change[1])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Zarr's, on names that it does not know
                found = answers(copied)
        except DcsvmError as error:
            check_message(error, str(copied))
            return
        for mine, theirs in zip(found, expected, strict=True):
            if same:
                np.testing.assert_array_equal(mine, theirs)

    return check


def changes_below(folder: Path, pattern: str) -> SearchStrategy[tuple[str, bytes]]:
    """Give the key of a file below a folder and damaged bytes of it."""
    files = [path for path in sorted(folder.rglob(pattern)) if path.is_file()]
    return st.one_of(
        [
            st.tuples(
                st.just(path.relative_to(folder).as_posix()),
                damaged_json(json.loads(path.read_bytes()))
                if path.suffix == ".json"
                else damaged(path.read_bytes()),
            )
            for path in files
        ]
    )


def damaged(content: bytes, odd: Iterable[bytes] = ODD_BYTES) -> SearchStrategy[bytes]:
    """Give copies with bytes flipped, foreign, doubled, cut out or cut off, or lines exchanged."""
    return st.lists(_change(list(odd)), min_size=1, max_size=3).map(
        lambda changes: apply_changes(content, changes)
    )


def noise(odd: Iterable[bytes] = ODD_BYTES) -> SearchStrategy[bytes]:
    """Give bytes that were never a file, some made of words that files have."""
    words = st.sampled_from([*odd, b"1", b"-1", b"0.5", b"1:0.5", b"2:3"])
    return st.one_of(st.binary(max_size=200), st.lists(words, max_size=30).map(b"".join))


def damaged_json(value: Any) -> SearchStrategy[bytes]:
    """Give a JSON text with values of other types or sizes, keys dropped, or bytes damaged."""
    places = list(places_in(value))
    text = json.dumps(value, indent=1).encode()
    changes = st.lists(
        st.tuples(st.sampled_from(places), st.sampled_from(("put", "put", "put", "drop", "add"))),
        min_size=1,
        max_size=2,
    )
    return st.one_of(
        st.tuples(changes, st.sampled_from(ODD_JSON)).map(lambda c: replaced(value, *c)),
        damaged(text, [*ODD_BYTES, b"0", b"9", b"-", b"e", b"1e400", b"[" * 5000, b"9" * 5000]),
        st.sampled_from([b"", b"null", b"[]", b"{}", b'"x"', b"3", b"NaN", b"\xef\xbb\xbf{}"]),
    )


def _change(odd: list[bytes]) -> SearchStrategy[tuple[str, int, int, bytes]]:
    at = st.integers(0, 2**20)
    return st.tuples(
        st.sampled_from(CHANGES),
        at,
        st.one_of(st.integers(0, 40), at),
        st.sampled_from(odd),
    )


def apply_changes(content: bytes, changes: Iterable[tuple[str, int, int, bytes]]) -> bytes:
    """Return a copy with changes made: what, two numbers that say where, and foreign bytes."""
    data = bytearray(content)
    for what, one, two, word in changes:
        a = one % (len(data) + 1)
        b = min(a + two, len(data))
        if what == "flip" and a < len(data):
            data[a] ^= 1 << two % 8
        elif what == "put":
            data[a:a] = word
        elif what == "over":
            data[a : a + len(word)] = word
        elif what == "cut":
            del data[a:b]
        elif what == "off":
            del data[a:]
        elif what == "double":
            data[a:a] = data[a:b]
        else:
            lines = bytes(data).splitlines(keepends=True)
            if not lines:
                continue
            i, j = one % len(lines), two % len(lines)
            if what == "swap":
                lines[i], lines[j] = lines[j], lines[i]
            else:
                lines.insert(i, lines[j])
            data = bytearray(b"".join(lines))
    return bytes(data)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Iterable[Any] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from places_in(inner, (*path, key))


def replaced(value: Any, changes: list[tuple[tuple[Any, ...], str]], new: Any) -> bytes:
    value = copy.deepcopy(value)
    for path, what in changes:
        inner = value
        try:
            for key in path[:-1]:
                inner = inner[key]
            if what == "drop":
                del inner[path[-1]]
            elif what == "add" and isinstance(inner, list):
                inner.insert(path[-1], copy.deepcopy(new))
            elif what == "add":
                inner[f"{path[-1]}_"] = inner.pop(path[-1])
            else:
                inner[path[-1]] = copy.deepcopy(new)
        except (KeyError, IndexError, TypeError, AttributeError):  # another change took it away
            continue
    return json.dumps(value, indent=1).encode()
