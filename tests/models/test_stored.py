"""Models as runs of the version before have stored them are read as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask.clustering import InputPartition
from dcsvm_dask.clustering.tree import Tree
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models import Model, OneVsOne, OneVsRest, Rule, Scheme, Single
from dcsvm_dask.storage.arrays import write_array
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.model import MODEL, read_model, write_model, write_rule
from dcsvm_dask.storage.node import Attempt
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.run import RunFolder
from tests.run_folder import HEADER

KERNEL = Kernel("rbf", 0.5)
RNG = np.random.default_rng(0)


def model_of(scheme: Scheme, n_blocks: int) -> Model:
    """Return a model of random numbers."""
    counts = RNG.integers(1, 4, (n_blocks, scheme.n_groups))
    n, rule = int(counts.sum()), None
    if n_blocks > 1:
        centres = RNG.random((n_blocks, 3)).astype(np.float32)
        partition = InputPartition(Tree.flat(n_blocks), centres, cosine=False)
        class_rows = None if scheme.n_groups == 1 else counts + 1
        rule = Rule(partition, np.arange(n_blocks), class_rows)
    return Model(
        KERNEL,
        RNG.random((n, 3)).astype(np.float32),
        RNG.standard_normal((scheme.n_coefficients, n)),
        counts,
        RNG.standard_normal((n_blocks, scheme.n_svms)),
        scheme,
        rule,
    )


def write_as_version_3(attempt: Attempt, model: Model) -> dict[str, Any]:
    """Write a model as version 3 did: two classes by borders of blocks, more by class."""
    place = attempt.place / MODEL
    record: dict[str, Any] = {"n_support": model.n_support}
    write_rows(place / "support", [model.support], n_features=3, sparse=False, chunk_rows=4096)
    squeezed = model.n_blocks == 1
    if model.is_single:
        arrays = {"coef": model.coef[0], "offsets": model.offsets, "bias": model.bias[:, 0]}
    else:
        of_class = model.counts[0] if squeezed else model.counts
        bias = model.bias[0] if squeezed else model.bias
        arrays = {"dual_coef": model.coef, "of_class": of_class, "bias": bias}
        record |= {"classes": model.n_classes, "scheme": model.scheme.name}
    if model.rule is not None:
        arrays["block_of_label"] = model.rule.block_of_label
        if model.rule.class_rows is not None:
            arrays["class_rows"] = model.rule.class_rows
        record["rule"] = write_rule(place / "rule", model.rule.partition)
    for name, array in arrays.items():
        write_array(place / name, array)
    return {"model": record}


@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("scheme", [Single(), OneVsOne(4), OneVsRest(3)], ids=lambda s: s.name)
@pytest.mark.parametrize("version", [3, 4])
def test_a_stored_model_is_read_as_it_was(
    scheme: Scheme, n_blocks: int, version: int, tmp_path: Path
) -> None:
    model = model_of(scheme, n_blocks)
    model.check()
    run = RunFolder.create(Location.of(tmp_path / "run"), HEADER)
    attempt = run.attempt("level-1", "commit")
    if version == 3:
        record = write_as_version_3(attempt, model)
    else:
        arrays = (model.coef, model.counts, model.bias)
        how: dict[str, Any] = {"scheme": scheme, "rule": model.rule}
        record = write_model(attempt, [model.support], *arrays, n_features=3, sparse=False, **how)
    attempt.commit(record)
    found = read_model(run.node("level-1", "commit"), KERNEL)
    found.check()
    assert found.scheme == scheme
    for name in ("support", "coef", "counts", "bias", "offsets"):
        np.testing.assert_array_equal(getattr(found, name), getattr(model, name))
    assert (found.rule is None) == (n_blocks == 1)
    if found.rule is not None and model.rule is not None:
        X = RNG.random((20, 3)).astype(np.float32)
        np.testing.assert_array_equal(found.rule.blocks_of(X), model.rule.blocks_of(X))
        assert (found.rule.class_rows is None) == (model.rule.class_rows is None)
