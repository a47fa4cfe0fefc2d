"""Progress as JSON: one object in a line for each event."""

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
"""Entries of the longest list that is written; longer lists have an entry for each block."""


class JsonLines(Callback):
    """Write every event as a JSON object in a line.

    Each object has ``event`` (the name of a class in `dcsvm_dask.runtime.events`), ``time`` (ISO
    8601,
    UTC), ``seconds`` (the same time since 1970) and the fields of the event without lists that have
    an entry for each block.

    Parameters
    ----------
    stream : TextIO, optional
        The stream to write to; standard output by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def on_event(self, event: Event) -> None:
        """Write an event."""
        fields = asdict(event)
        text = json_line(type(event).__name__, fields.pop("time"), fields)
        print(text, file=self._stream or sys.stdout, flush=True)


def json_line(event: str, seconds: float, fields: dict[str, Any]) -> str:
    """Return an event as a JSON object without line breaks.

    Parameters
    ----------
    event : str
        Name of the event.
    seconds : float
        Its time in seconds since 1970.
    fields : dict
        The other fields. Lists with an entry for each block are left out.

    Returns
    -------
    str
    """
    time = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    whole = {"event": event, "time": time, "seconds": seconds, **pruned(fields)}
    return json.dumps(whole, allow_nan=False)


def pruned(value: Any) -> Any:
    """Return a value without lists of blocks, with None for numbers that JSON cannot express."""
    if isinstance(value, dict):
        return {key: pruned(one) for key, one in value.items() if not is_of_blocks(key, one)}
    if isinstance(value, list):
        return [pruned(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_of_blocks(key: str, value: Any) -> bool:
    """Return whether the value of a key is a list with an entry for each block."""
    long = isinstance(value, list) and len(value) > LONGEST_LIST
    return key in OF_BLOCKS or (long and key != "tasks")
