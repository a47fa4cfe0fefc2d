"""The warning of a run whose model says the same of every new row."""

from __future__ import annotations

import warnings

from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.methods.choice import reached_model
from dcsvm_dask.methods.isolated import told_of_isolated
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.storage.run import RunFolder


def warn_isolated(run: RunFolder) -> None:
    """Warn the caller where the kernel matrix of the model that a run reached is the identity."""
    stage = reached_model(run)
    node = None if stage is None else run.find(stage, "commit")
    if node is not None and node.record.get("isolated"):
        settings = Settings.from_json(run.header["settings"])
        said = told_of_isolated(settings.kernel, node.record["support"])
        warnings.warn(DcsvmWarning(said), stacklevel=4)
