"""The compiled number parser gives what float() gives, to the last bit."""

from __future__ import annotations

import math
import struct
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dcsvm_dask.readers import numbers
from dcsvm_dask.readers.numbers import BAD, GOOD, SLOW


@numba.njit
def parse_both(text: NDArray[np.uint8]) -> Any:
    return numbers.parse_number(text, 0), numbers.parse_plain(text, 0)


def parse_number(text: str) -> tuple[float, int, int]:
    padded = np.frombuffer(text.encode() + b"\n" * 16, np.uint8)
    number, plain = parse_both(padded)
    assert plain[1:] == number[1:]
    assert struct.pack("d", plain[0]) == struct.pack("d", number[0])
    return tuple(number)


def parse(text: str) -> tuple[float, int]:
    value, stop, status = parse_number(text)
    assert status != BAD
    assert stop == len(text)
    return value, status


def check(text: str) -> int:
    value, status = parse(text)
    if status == GOOD:
        assert struct.pack("d", value) == struct.pack("d", float(text)), text
    return status


HARD = [
    "0",
    "-0",
    "+.5",
    "1.",
    "1e5",
    "1E-5",
    "9007199254740993",  # halfway between two doubles
    "9007199254740992.99999999999",
    "1e23",
    "2.2250738585072011e-308",  # the largest subnormal number and its neighbour
    "2.2250738585072014e-308",
    "4.9e-324",
    "2.4703282292062328e-324",  # just above half of the smallest
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "1e400",
    "1e-400",
    "1e99999999999",
    "18446744073709551615",
    "0." + "0" * 400 + "1e401",
    "8.692932128906250000e-01",
    "-Infinity",
    "inf",
    "9007199254740993e22",
]


@pytest.mark.parametrize("text", HARD)
def test_hard_numbers(text: str) -> None:
    check(text)


def test_nan_is_parsed_as_such() -> None:
    assert math.isnan(parse("nan")[0])
    assert math.isnan(parse("-NaN")[0])


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "+-1", "x", "na", "--1"])
def test_what_is_no_number_is_bad(text: str) -> None:
    assert parse_number(text)[2] == BAD


@pytest.mark.parametrize(("text", "stop"), [("1e", 1), ("1e+", 1), ("2x", 1), ("1.5.2", 3)])
def test_the_number_ends_where_float_would_fail(text: str, stop: int) -> None:
    assert parse_number(text)[1] == stop


@settings(max_examples=500, deadline=None)
@given(st.floats(allow_nan=False), st.sampled_from(["r", ".17g", ".18e", ".25f", ".9g", ".3e"]))
def test_every_double_as_programs_write_it(value: float, form: str) -> None:
    check(repr(value) if form == "r" else format(value, form))


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", min_size=1, max_size=30),
    st.none() | st.text("0123456789", max_size=30),
    st.none() | st.integers(-400, 400),
)
def test_every_decimal(sign: str, whole: str, rest: str | None, power: int | None) -> None:
    text = sign + whole + ("" if rest is None else f".{rest}")
    check(text + ("" if power is None else f"e{power}"))


@settings(max_examples=300, deadline=None)
@given(st.integers(2**52, 2**53 - 1), st.integers(0, 4), st.integers(0, 10))
def test_numbers_exactly_between_two_doubles(mantissa: int, fives: int, twos: int) -> None:
    between = 2 * mantissa + 1
    check(str(between << twos))
    check(f"{between * 5**fives}e-{fives}")


def test_only_longer_numbers_are_left_to_float() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=300).tolist()
    texts = [repr(v) for v in values] + [f"{v:.18e}" for v in values]
    assert SLOW not in {check(text) for text in texts}
