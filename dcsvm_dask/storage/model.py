"""Saved models: arrays and the record of the node that wrote them, never code.

Memory: that of a model's arrays, which `check_model` compares with the memory bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import Partition
from dcsvm_dask.features import FeatureMap
from dcsvm_dask.kernels import Kernel, Rows, is_sparse
from dcsvm_dask.models.committee import Committee
from dcsvm_dask.models.model import Model, Rule
from dcsvm_dask.models.schemes import SCHEMES, SINGLE, Scheme, Single
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.storage.arrays import write_array
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.small import SMALL

MODEL = "model"


def write_model(
    attempt: Attempt,
    support: Iterable[Rows],
    coef: NDArray[np.float64],
    counts: NDArray[np.int64],
    bias: NDArray[np.float64],
    *,
    n_features: int,
    sparse: bool,
    scheme: Scheme = SINGLE,
    rule: Rule | None = None,
    vote: str | None = None,
    committee: Committee | None = None,
    features: FeatureMap | None = None,
) -> Record:
    """Write a model as arrays of a node; see `Model` for the parameters.

    Parameters
    ----------
    attempt : Attempt
        The node's output.
    support : iterable of ndarray or csr_array
        Support vectors in pieces of shape (m, n_features), float32.
    coef : ndarray, shape (n_coefficients, n_support), float64
    counts : ndarray, shape (n_blocks, n_groups), int64
    bias : ndarray, shape (n_blocks, n_svms), float64
    n_features : int
    sparse : bool
        Whether support vectors are stored as CSR.
    scheme : Scheme, optional
    rule : Rule, optional
    vote : str, optional
    committee : Committee, optional
    features : FeatureMap, optional

    Returns
    -------
    dict
        The model's entry of the node's record.
    """
    place = attempt.place / MODEL
    write_rows(place / "support", support, n_features=n_features, sparse=sparse, chunk_rows=4096)
    for name, array in (("coef", coef), ("counts", counts), ("bias", bias)):
        write_array(place / name, array)
    record: Record = {"n_support": coef.shape[1]}
    if isinstance(scheme, Single):
        record["vote"] = vote
    else:
        record |= {"classes": scheme.n_classes, "scheme": scheme.name}
    if committee is not None:
        write_array(place / "slope", committee.slope)
        write_array(place / "intercept", committee.intercept)
        record["prior"] = committee.prior
    if features is not None:
        record["features"] = write_rule(place / "features", features)
    if rule is not None:
        write_array(place / "block_of_label", rule.block_of_label)
        if rule.class_rows is not None:
            write_array(place / "class_rows", rule.class_rows)
        record["rule"] = write_rule(place / "rule", rule.partition)
    return {"model": record}


def write_whole(attempt: Attempt, model: Model) -> Record:
    """Write a model that is in memory; return its entry of the node's record."""
    return write_model(
        attempt,
        [model.support],
        model.coef,
        model.counts,
        model.bias,
        n_features=int(model.support.shape[1]),
        sparse=is_sparse(model.support),
        scheme=model.scheme,
        vote=model.vote,
        features=model.features,
    )


def check_model(node: Committed) -> None:
    """Raise an error if the arrays of a node's model exceed the memory bound.

    Raises
    ------
    InputError
        With the size of the model and the bound.
    """
    described = [key for key in node.keys if re.fullmatch(rf"{MODEL}/.*zarr\.json", key)]
    total = node.keys.get(SMALL, (0, 0))[0]
    for key in described:
        if node.checksums.read_json(key).get("node_type") == "array":
            total += node.open_array(key.removesuffix("/zarr.json")).nbytes
    check_bound(total, f"{node.place}/{MODEL}", "the model")


def read_model(node: Committed, kernel: Kernel) -> Model:
    """Read the model of a node."""
    record = node.record["model"]
    rule, features, prior = (record.get(key) for key in ("rule", "features", "prior"))
    rows = node.open_rows(f"{MODEL}/support")
    read = _read_arrays if node.has(f"{MODEL}/counts") else _read_arrays_of_version_3
    scheme, coef, counts, bias = read(node, record)
    return Model(
        kernel if features is None else Kernel("linear"),
        rows.read(0, rows.n_rows),
        coef,
        counts,
        bias,
        scheme,
        rule=None if rule is None else _read_rule(node, rule),
        vote=record.get("vote"),
        committee=None if prior is None else read_committee(node, f"{MODEL}/", prior),
        features=None if features is None else read_map(node, f"{MODEL}/features", features),
    )


Arrays = tuple[Scheme, NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]


def _read_arrays(node: Committed, record: Record) -> Arrays:
    coef, counts, bias = (node.read(f"{MODEL}/{name}") for name in ("coef", "counts", "bias"))
    return _scheme_of(record), coef, counts, bias


def _read_arrays_of_version_3(node: Committed, record: Record) -> Arrays:
    """Read the arrays of runs of result version 3, which differ for more than two classes."""
    bias = node.read(f"{MODEL}/bias")
    scheme = _scheme_of(record)
    if isinstance(scheme, Single):
        coef, offsets = node.read(f"{MODEL}/coef"), node.read(f"{MODEL}/offsets")
        return scheme, coef[None, :], np.diff(offsets)[:, None], bias[:, None]
    coef, counts = node.read(f"{MODEL}/dual_coef"), node.read(f"{MODEL}/of_class")
    return scheme, coef, np.atleast_2d(counts), np.atleast_2d(bias)


def _scheme_of(record: Record) -> Scheme:
    if "classes" not in record:
        return SINGLE
    return SCHEMES[record.get("scheme", "ovo")](record["classes"])


def _read_rule(node: Committed, record: Record) -> Rule:
    return Rule(
        read_partition(node, f"{MODEL}/rule", record),
        node.read(f"{MODEL}/block_of_label"),
        node.read(f"{MODEL}/class_rows") if node.has(f"{MODEL}/class_rows") else None,
    )


def read_committee(node: Committed, folder: str, prior: float) -> Committee:
    """Read the calibration of a committee.

    Parameters
    ----------
    node : Committed
    folder : str
        Prefix of the arrays' names.
    prior : float
        Log odds of the positive class.

    Returns
    -------
    Committee
    """
    slope, intercept = (node.read(f"{folder}{name}") for name in ("slope", "intercept"))
    return Committee(slope, intercept, float(prior))


def write_rule(place: Location, rule: Partition | FeatureMap) -> Record:
    """Write the arrays of a partition or feature map; return its entry of the node's record."""
    arrays, meta = rule.to_arrays()
    for name, array in arrays.items():
        write_array(place / name, array)
    return {"meta": meta, "arrays": sorted(arrays)}


def read_partition(node: Committed, folder: str, record: Record) -> Partition:
    """Read a partition of a node.

    Parameters
    ----------
    node : Committed
    folder : str
        Folder of its arrays.
    record : dict
        The result of `write_rule`.

    Returns
    -------
    Partition
    """
    return Partition.from_arrays(_rule_arrays(node, folder, record), record["meta"])


def read_map(node: Committed, folder: str, record: Record) -> FeatureMap:
    """Read a feature map of a node.

    Parameters
    ----------
    node : Committed
    folder : str
        Folder of its arrays.
    record : dict
        The result of `write_rule`.

    Returns
    -------
    FeatureMap
    """
    return FeatureMap.from_arrays(_rule_arrays(node, folder, record), record["meta"])


def _rule_arrays(node: Committed, folder: str, record: Record) -> dict[str, Any]:
    """Return the arrays that `write_rule` has written, by name."""
    return {name: node.read(f"{folder}/{name}") for name in record["arrays"]}
