"""The help of all commands, as it is shown."""

from __future__ import annotations

import pytest

from dcsvm_dask.cli import COMMANDS
from tests.command_line import invoke


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_no_characters_that_are_not_shown(command: str) -> None:
    done = invoke(*([command] if command else []), "--help")
    assert done.exit_code == 0
    assert [c for c in done.stdout if not c.isprintable() and c != "\n"] == []
    assert "\\b" not in done.stdout
