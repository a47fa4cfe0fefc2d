"""The warnings of a run whose model is not worth much, though its problem is solved."""

from __future__ import annotations

import warnings

from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.methods.choice import reached_model
from dcsvm_dask.methods.isolated import told_of_isolated
from dcsvm_dask.methods.method import Goals
from dcsvm_dask.methods.narrow import margins_of, told_of_narrow
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.storage.run import RunFolder


def warn_of_model(run: RunFolder) -> None:
    """Warn the caller of the model that a run reached.

    Either its kernel matrix is the identity, or its tolerance does not resolve its margin.
    """
    stage = reached_model(run)
    node = None if stage is None else run.find(stage, "commit")
    if node is None:
        return
    settings, record = Settings.from_json(run.header["settings"]), node.record
    if record.get("isolated"):
        said = told_of_isolated(settings.kernel, record["support"])
        warnings.warn(DcsvmWarning(said), stacklevel=4)
    tol = Goals(**run.header["goals"]).tol
    if narrow := told_of_narrow(margins_of(record, settings.make_task()), tol):
        warnings.warn(DcsvmWarning(narrow), stacklevel=4)
