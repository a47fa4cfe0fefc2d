"""Streams of random numbers: each purpose has its own, and no other place makes a number up."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np

import dcsvm_dask
from dcsvm_dask import random_streams
from dcsvm_dask.random_streams import SHARED, generator

PACKAGE = Path(dcsvm_dask.__file__).parent
STREAMS = {name: value for name, value in vars(random_streams).items() if type(value) is int}


def test_purposes_do_not_share_a_stream_but_for_those_that_are_listed() -> None:
    shared = {frozenset({a, b}) for a, b in combinations(STREAMS, 2) if STREAMS[a] == STREAMS[b]}
    assert shared == {frozenset(pair) for group in SHARED for pair in combinations(group, 2)}


def test_a_stream_is_that_of_the_seed_its_number_and_the_others() -> None:
    drawn = generator(7, random_streams.BAG_MEMBER, 3).random(4)
    np.testing.assert_array_equal(drawn, np.random.default_rng([7, 7001, 3]).random(4))


def test_no_other_place_numbers_a_stream() -> None:
    found = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "random_streams.py" and re.search(r"default_rng\(\[", path.read_text())
    ]
    assert not found
