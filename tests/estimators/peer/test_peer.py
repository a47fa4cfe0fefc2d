"""scikit-learn's own tests of SVC and LinearSVC, with DCSVC and LinearDCSVC in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
import sklearn

from tests.estimators.peer.differences import FAILURES, REFUSALS
from tests.estimators.peer.run import Results, run

VERSION = "1.9"
"""Of scikit-learn, whose tests the lists name."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not sklearn.__version__.startswith(f"{VERSION}."),
        reason=f"the lists are of the tests of scikit-learn {VERSION}",
    ),
    # All wait for the same run: one process of pytest-xdist makes it.
    pytest.mark.xdist_group("peer"),
]


@pytest.fixture(scope="module")
def results() -> Results:
    return run()


def test_all_of_their_tests_run(results: Results) -> None:
    assert not results.others_failed, results.output
    assert results.total == 162


@pytest.mark.parametrize("which", ["failed", "passed_but_for_refusals"])
def test_what_does_not_pass_is_listed_with_its_reason(results: Results, which: str) -> None:
    listed = FAILURES if which == "failed" else REFUSALS
    found = getattr(results, which)
    said = found if isinstance(found, dict) else dict.fromkeys(found, "")
    unlisted = [f"{name}: {said[name]:.500}" for name in found if not _matches(name, listed)]
    assert not unlisted, "\n".join(unlisted)


@pytest.mark.parametrize("which", ["failed", "passed_but_for_refusals"])
def test_what_is_listed_does_not_pass(results: Results, which: str) -> None:
    listed, found = FAILURES if which == "failed" else REFUSALS, getattr(results, which)
    everything = {*results.passed, *results.passed_but_for_refusals, *results.failed}
    pass_now = [name for name in everything if _matches(name, listed) and name not in found]
    assert not pass_now, "take them off the list"
    unknown = [pattern for pattern in listed if not any(_matches(one, [pattern]) for one in found)]
    assert not unknown, "there are no such tests"


def _matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is like one of some patterns, in which * stands for anything."""
    parts = (map(re.escape, pattern.split("*")) for pattern in patterns)
    return any(re.fullmatch(".*".join(one), name) for one in parts)
