"""Saved models: arrays and the record of the node that wrote them, never code.

Memory: that of a model's arrays, which `check_model` compares with the memory bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import Partition
from dcsvm_dask.errors import InputError
from dcsvm_dask.features import FeatureMap
from dcsvm_dask.kernels import Kernel, Rows, is_sparse
from dcsvm_dask.models.blocks import BlocksModel
from dcsvm_dask.models.classes import MODELS
from dcsvm_dask.models.committee import Committee
from dcsvm_dask.models.many import ManyModel
from dcsvm_dask.models.model import Model
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.storage.arrays import write_array
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.small import SMALL

MODEL = "model"

AnyModel = Model | ManyModel | BlocksModel


def write_model(
    attempt: Attempt,
    support: Iterable[Rows],
    coef: NDArray[np.float64],
    offsets: NDArray[np.int64],
    bias: NDArray[np.float64],
    *,
    n_features: int,
    sparse: bool,
    partition: Partition | None = None,
    block_of_label: NDArray[np.int64] | None = None,
    vote: str | None = None,
    committee: Committee | None = None,
    features: FeatureMap | None = None,
) -> Record:
    """Write a model as arrays of a node.

    Parameters
    ----------
    attempt : Attempt
        The node's output.
    support : iterable of ndarray or csr_array
        Blocks of support vectors, (m, n_features) float32 each.
    coef : ndarray, shape (n_support,), float64
        beta of each support vector.
    offsets : ndarray, shape (n_blocks + 1,), int64
        First support vector of each block, and their number.
    bias : ndarray, shape (n_blocks,), float64
    n_features : int
    sparse : bool
        Whether support vectors are stored as CSR.
    partition : Partition, optional
        The rule that assigns rows to blocks, with `block_of_label`.
    block_of_label : ndarray, shape (n_labels,), int64, optional
        Block of each label of the partition.
    vote : str, optional
        How blocks vote; see `Model`.
    committee : Committee, optional
    features : FeatureMap, optional
        Map of the rows, where the SVM is linear in its outputs.

    Returns
    -------
    dict
        The model's entry of the node's record.
    """
    place = attempt.place / MODEL
    write_rows(place / "support", support, n_features=n_features, sparse=sparse, chunk_rows=4096)
    write_array(place / "coef", coef)
    write_array(place / "offsets", offsets)
    write_array(place / "bias", bias)
    record: Record = {"n_support": len(coef), "vote": vote}
    if committee is not None:
        write_array(place / "slope", committee.slope)
        write_array(place / "intercept", committee.intercept)
        record["prior"] = committee.prior
    if features is not None:
        record["features"] = write_rule(place / "features", features)
    if partition is not None and block_of_label is not None:
        write_array(place / "block_of_label", block_of_label)
        record["rule"] = write_rule(place / "rule", partition)
    return {"model": record}


def write_classes(
    attempt: Attempt,
    support: Iterable[Rows],
    dual_coef: NDArray[np.float64],
    of_class: NDArray[np.int64],
    bias: NDArray[np.float64],
    *,
    scheme: str,
    n_features: int,
    sparse: bool,
    class_rows: NDArray[np.int64] | None = None,
    partition: Partition | None = None,
    block_of_label: NDArray[np.int64] | None = None,
) -> Record:
    """Write a model of many classes as arrays of a node.

    For a level `of_class` and `bias` have a row for each block, the support vectors of a block are
    consecutive, and the last three parameters are given; see `BlocksModel`.

    Parameters
    ----------
    attempt : Attempt
        The node's output.
    support : iterable of ndarray or csr_array
        Blocks of support vectors, (m, n_features) float32 each.
    dual_coef : ndarray, shape (n_coefficients, n_support), float64
        y_i alpha_i; see `ManyModel`.
    of_class : ndarray of int64, shape (n_classes,) or (n_blocks, n_classes)
        Number of support vectors of each class.
    bias : ndarray of float64, shape (n_svms,) or (n_blocks, n_svms)
        One for each binary SVM.
    scheme : {"ovo", "ovr"}
        The multiclass scheme.
    n_features : int
    sparse : bool
        Whether support vectors are stored as CSR.
    class_rows : ndarray of int64, shape (n_blocks, n_classes), optional
        Training rows of each class in each block.
    partition : Partition, optional
        The rule that assigns rows to blocks.
    block_of_label : ndarray, shape (n_labels,), int64, optional
        Block of each label of the partition.

    Returns
    -------
    dict
        The model's entry of the node's record.
    """
    place = attempt.place / MODEL
    write_rows(place / "support", support, n_features=n_features, sparse=sparse, chunk_rows=4096)
    for name, array in (("dual_coef", dual_coef), ("of_class", of_class), ("bias", bias)):
        write_array(place / name, array)
    record: Record = {
        "n_support": dual_coef.shape[1],
        "classes": of_class.shape[-1],
        "scheme": scheme,
    }
    if class_rows is not None and partition is not None and block_of_label is not None:
        write_array(place / "class_rows", class_rows)
        write_array(place / "block_of_label", block_of_label)
        record["rule"] = write_rule(place / "rule", partition)
    return {"model": record}


def write_whole(attempt: Attempt, model: Model) -> Record:
    """Write a model that is in memory; return its entry of the node's record."""
    return write_model(
        attempt,
        [model.support],
        model.coef,
        model.offsets,
        model.bias,
        n_features=int(model.support.shape[1]),
        sparse=is_sparse(model.support),
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


def read_any(node: Committed, kernel: Kernel) -> AnyModel:
    """Read the model of a node, of two classes or of many."""
    record = node.record["model"]
    if "classes" not in record:
        return read_model(node, kernel)
    rows = node.open_rows(f"{MODEL}/support")
    support = rows.read(0, rows.n_rows)
    dual_coef, of_class, bias = (
        node.read(f"{MODEL}/{name}") for name in ("dual_coef", "of_class", "bias")
    )
    kind = MODELS[record.get("scheme", "ovo")]
    if "rule" not in record:
        return kind(kernel, support, dual_coef, of_class, bias)
    return BlocksModel.of(
        kind,
        kernel,
        support,
        dual_coef,
        of_class,
        bias,
        class_rows=node.read(f"{MODEL}/class_rows"),
        partition=read_partition(node, f"{MODEL}/rule", record["rule"]),
        block_of_label=node.read(f"{MODEL}/block_of_label"),
    )


def read_model(node: Committed, kernel: Kernel) -> Model:
    """Read the model of two classes of a node.

    Raises
    ------
    InputError
        If it is one of many classes.
    """
    if "classes" in node.record["model"]:
        raise InputError(
            f"{node.place}: has a model of many classes; a model of two classes is needed"
        )
    rule, features, prior = (node.record["model"].get(key) for key in ("rule", "features", "prior"))
    rows = node.open_rows(f"{MODEL}/support")
    return Model(
        kernel=kernel if features is None else Kernel("linear"),
        support=rows.read(0, rows.n_rows),
        coef=node.read(f"{MODEL}/coef"),
        offsets=node.read(f"{MODEL}/offsets"),
        bias=node.read(f"{MODEL}/bias"),
        partition=None if rule is None else read_partition(node, f"{MODEL}/rule", rule),
        block_of_label=None if rule is None else node.read(f"{MODEL}/block_of_label"),
        vote=node.record["model"].get("vote"),
        committee=None if prior is None else read_committee(node, f"{MODEL}/", prior),
        features=None if features is None else read_map(node, f"{MODEL}/features", features),
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
    arrays = {name: node.read(f"{folder}/{name}") for name in record["arrays"]}
    return Partition.from_arrays(arrays, record["meta"])


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
    arrays = {name: node.read(f"{folder}/{name}") for name in record["arrays"]}
    return FeatureMap.from_arrays(arrays, record["meta"])
