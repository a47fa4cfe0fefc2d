"""Cases of a parametrized test that only `make test-all`, or only `make test-soak`, runs."""

from __future__ import annotations

from typing import Any

import pytest


def long(*values: Any, id: str | None = None) -> Any:  # noqa: A002
    """Return a case, as `pytest.param` does, that takes seconds beside one that is quick."""
    return pytest.param(*values, id=id, marks=pytest.mark.long)


def soak(*values: Any, id: str | None = None) -> Any:  # noqa: A002
    """Return a case that takes minutes beside one that shows the same in less."""
    return pytest.param(*values, id=id, marks=[pytest.mark.long, pytest.mark.soak])
