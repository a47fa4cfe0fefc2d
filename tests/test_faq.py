"""The messages that docs/faq.md quotes are those of the sources."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "..."
"""Stands in the page for names and numbers."""


def quoted() -> list[str]:
    """Return the messages of the page, one a line in blocks of text."""
    blocks = re.findall(r"^```text\n(.*?)^```$", (ROOT / "docs/faq.md").read_text(), re.M | re.S)
    return [line for block in blocks for line in block.splitlines()]


@cache
def texts() -> list[str]:
    """Return the strings of the sources, joined where the language joins them."""
    found = []
    for path in (ROOT / "dcsvm_dask").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    one.value if isinstance(one, ast.Constant) else "\0" for one in node.values
                ]
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def test_the_page_quotes_messages() -> None:
    assert len(quoted()) >= 30


@pytest.mark.parametrize("message", quoted())
def test_the_fixed_parts_of_a_message_are_those_of_the_sources(message: str) -> None:
    fixed = [part.strip(" :;,().") for part in message.split(VARIABLE)]
    fixed = [part for part in fixed if len(part) > 3]
    assert fixed, message
    missing = [part for part in fixed if not any(part in text for text in texts())]
    assert not missing, missing
