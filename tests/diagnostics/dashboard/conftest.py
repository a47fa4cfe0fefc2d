"""A run as the dashboard hears of it."""

from __future__ import annotations

import pytest

from tests.diagnostics.teller import Teller, arranged


@pytest.fixture
def tell() -> Teller:
    """Give a run that is about to solve three blocks."""
    return arranged()
