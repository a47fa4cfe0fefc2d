"""The state and the figures of a run as one text."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.summary import figures, state_of


def summary(status: dict[str, Any]) -> str:
    """Return what commands print of a status with --verbose, but for places."""
    return "\n".join([f"state      {state_of(status)}", *figures(status)])
