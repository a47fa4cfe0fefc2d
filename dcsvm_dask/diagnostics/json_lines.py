"""A run as JSON: one object a line for everything that happens."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TextIO

from dcsvm_dask.diagnostics.progress.stage import OF_BLOCKS
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Event

LONGEST_LIST = 32
"""Entries of a list; longer ones are of single blocks, and are left out."""


class JsonLines(Callback):
    """Write every event as a JSON object in a line.

    Each has ``event`` (its name in `dcsvm_dask.runtime.events`), ``time`` (ISO 8601, UTC),
    ``seconds`` (the same since 1970) and what the event holds, without lists of single blocks.

    Parameters
    ----------
    stream : TextIO, optional
        Where to; by default standard output.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def on_event(self, event: Event) -> None:
        """Write it."""
        fields = asdict(event)
        text = json_line(type(event).__name__, fields.pop("time"), fields)
        print(text, file=self._stream or sys.stdout, flush=True)


def json_line(event: str, seconds: float, fields: dict[str, Any]) -> str:
    """Return something that happened as a JSON object without line breaks."""
    time = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    whole = {"event": event, "time": time, "seconds": seconds, **pruned(fields)}
    return json.dumps(whole, allow_nan=False)


def pruned(value: Any) -> Any:
    """Return a value without lists of single blocks, and null for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: pruned(one) for key, one in value.items() if not is_of_blocks(key, one)}
    if isinstance(value, list):
        return [pruned(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_of_blocks(key: str, value: Any) -> bool:
    """Whether what lies under a key is one entry a block."""
    long = isinstance(value, list) and len(value) > LONGEST_LIST
    return key in OF_BLOCKS or (long and key != "tasks")
