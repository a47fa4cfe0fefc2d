"""Held-out rows, on which a run's models are scored."""

from __future__ import annotations

from dcsvm_dask.api.run import Place
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.preparation import Preparation


def open_holdout(holdout: Place, data: DataSet) -> DataSet:
    """Open held-out rows and check that they fit the training data.

    Raises
    ------
    InputError
        If features, classes or scaling differ, or one has targets and the other classes.
    """
    found = DataSet.open(holdout)
    if found.one_class is not data.one_class:
        raise InputError(
            f"{found.url}: was ingested with --task {found.task}, the training data {data.url} "
            f"with --task {data.task}; ingest both together"
        )
    if (found.targets is None) is not (data.targets is None):
        kinds = ("classes", "targets") if found.targets is None else ("targets", "classes")
        raise InputError(
            f"{found.url}: its rows have {kinds[0]}, those of the training data {data.url} "
            f"{kinds[1]}; ingest both together"
        )
    for what, theirs, ours in (
        ("features", found.n_features, data.n_features),
        ("classes", found.classes, data.classes),
    ):
        if theirs != ours:
            raise InputError(
                f"{found.url}: has {what} {theirs}, the training data {data.url} has {ours}; "
                "ingest both together"
            )
    names, wanted = found.feature_names, data.feature_names
    if names is not None and wanted is not None and names != wanted:
        k = next(k for k, name in enumerate(names) if name != wanted[k])
        raise InputError(
            f"{found.url}: feature {k} is {names[k]!r}, but {wanted[k]!r} in the training data "
            f"{data.url}; held-out rows are read as they are stored: ingest both together "
            "(--test), which finds features by name"
        )
    if not Preparation.of(data).scales_like(found):
        raise InputError(
            f"{found.url}: was scaled otherwise than the training data {data.url}; "
            "ingest both together"
        )
    return found
