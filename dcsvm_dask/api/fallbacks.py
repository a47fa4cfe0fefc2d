"""The warning of a run whose inner solver did not finish all working sets."""

from __future__ import annotations

import warnings

from dcsvm_dask.diagnostics.status import fallbacks_of, read_nodes
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.methods.fallbacks import told_of_fallbacks
from dcsvm_dask.storage.run import RunFolder


def warn_fallbacks(run: RunFolder) -> None:
    """Warn the caller where SMO went on for the inner solver that a run names."""
    inner = run.header["settings"].get("inner", "auto")
    if inner in ("auto", "smo"):
        return
    count = sum(fallbacks_of(read_nodes(run)).values())
    if count:
        warnings.warn(DcsvmWarning(told_of_fallbacks(inner, count)), stacklevel=4)
