"""Cases of a parametrized test that only `make test-all`, or only `make test-soak`, runs."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest


def long(*values: Any, id: str | None = None) -> Any:  # noqa: A002
    """Return a case, as `pytest.param` does, that takes seconds beside one that is quick."""
    return pytest.param(*values, id=id, marks=pytest.mark.long)


def soak(*values: Any, id: str | None = None) -> Any:  # noqa: A002
    """Return a case that takes minutes beside one that shows the same in less."""
    return pytest.param(*values, id=id, marks=[pytest.mark.long, pytest.mark.soak])


def half(*lists: list[Any] | dict[str, Any]) -> list[Any]:
    """Return every second case of a grid, and the others as soaks; a dict names its values.

    Each value is there. Of three lists, of which one has two values, so is each pair of the others.
    """
    named = (
        [(str(one), one) for one in some] if isinstance(some, list) else some.items()
        for some in lists
    )
    cases = product(*(enumerate(some) for some in named))
    return [
        (soak if sum(number for number, _ in case) % 2 else pytest.param)(
            *(value for _, (_, value) in case), id="-".join(name for _, (name, _) in case)
        )
        for case in cases
    ]
