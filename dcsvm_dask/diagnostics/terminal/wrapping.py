"""Sentences that are wider than the terminal, broken between words."""

from __future__ import annotations

import re
import shutil
import textwrap
from typing import TextIO

GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
"""What stands between a label, or a time, and its sentence."""
COMMAND, BELOW = "dcsvm ", " " * 4


def fitted(text: str, stream: TextIO) -> str:
    """Return a text whose lines fit into a stream's terminal; elsewhere as it is.

    What follows a label continues below its beginning; the last columns of a table's rows go below
    the others. Commands, which are copied, stay whole.

    Parameters
    ----------
    text : str
    stream : TextIO
        Where it is printed.
    """
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(_fitted(line, width) for line in text.split("\n"))


def _fitted(line: str, width: int) -> str:
    gaps = list(GAP.finditer(line))
    start = gaps[0].end() if gaps else len(line) - len(line.lstrip())
    if len(line) <= width or line[start:].startswith(COMMAND):
        return line
    if len(gaps) > 1:
        last = next((gap for gap in reversed(gaps) if gap.start() <= width), gaps[0])
        return f"{line[: last.start()]}\n{BELOW}{line[last.end() :]}"
    label, sentence = line[:start], line[start:]
    parts = textwrap.wrap(
        sentence, max(20, width - start), break_long_words=False, break_on_hyphens=False
    )
    return label + ("\n" + " " * start).join(parts)
