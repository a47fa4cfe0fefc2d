"""Models of more than two classes against scikit-learn: one-vs-rest, and models of blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models import Model, Rule, decide, scheme_for
from dcsvm_dask.solvers import labels_of_classes, machines_of, solve_machines

KERNEL = Kernel("rbf", 0.05)
K = 6


@pytest.fixture(scope="module")
def digits() -> Any:
    X, y = load_digits(n_class=K, return_X_y=True)
    return (X / 4).astype(np.float32), y


def model_of(X: Any, codes: Any, scheme: str, n_classes: int = K) -> Model:
    """Return the machines of some rows, with a bias."""
    solved = solve_machines(
        KERNEL, X, codes, 5.0, machines_of(n_classes, scheme), equality=True, tol=1e-5
    )
    coef = np.zeros((n_classes - (scheme == "ovo"), len(X)))
    for one in solved:
        coef[one.machine.place(codes[one.rows]), one.rows] = one.solution.beta
    order = np.argsort(codes, kind="stable")
    order = order[coef[:, order].any(axis=0)]
    counts = np.bincount(codes[order], minlength=n_classes).astype(np.int64)
    bias = np.array([one.solution.bias for one in solved])
    own = scheme_for(n_classes, scheme)
    return Model(KERNEL, X[order], coef[:, order], counts[None, :], bias[None, :], own)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_one_against_the_rest_is_that_of_scikit_learn(is_sparse: bool, digits: Any) -> None:
    X, y = digits
    theirs = OneVsRestClassifier(SVC(gamma=0.05, C=5.0, tol=1e-5)).fit(X[:500], y[:500])
    model = model_of(X[:500], y[:500], "ovr")
    model.check()
    rows = X[500:]
    if is_sparse:
        model, rows = (
            replace(model, support=sparse.csr_array(model.support)),
            sparse.csr_array(rows),
        )
    values = decide(model, rows)
    np.testing.assert_allclose(values, theirs.decision_function(X[500:]), atol=1e-3)
    np.testing.assert_array_equal(model.scheme.classes_of(values), theirs.predict(X[500:]))
    np.testing.assert_array_equal(model.scheme.values_of_classes(values), values)


def test_rows_in_doubt_between_two_classes_are_decided_in_float64(digits: Any) -> None:
    X, y = digits
    model = model_of(X[:500], y[:500], "ovr")
    exact = decide(model, X[500:], dtype=np.float64)
    first, second = np.argsort(exact[17])[[-1, -2]]
    for ahead in (1e-12, -1e-12):
        bias = model.bias.copy()
        bias[0, first] += exact[17, second] - exact[17, first] + ahead
        values = decide(replace(model, bias=bias), X[500:])
        winner = model.scheme.classes_of(values)[17]
        assert winner == (first if ahead > 0 else second)
        assert model.rounding(X[500:]) > abs(ahead)


class ByFirstFeature:
    """A rule of three labels, by borders on a feature."""

    n_blocks = 3

    def assign(self, X: Any) -> Any:
        X = X.toarray() if sparse.issparse(X) else X
        return np.digitize(X[:, 20], [0.5, 3.5]).astype(np.int32)


@pytest.fixture(scope="module", params=["ovo", "ovr"])
def blocks(request: pytest.FixtureRequest, digits: Any) -> Any:
    """Machines of two blocks, the second without some classes; the rule's third has no rows."""
    X, y = digits
    X, y = X[:500], y[:500]
    rule: Any = ByFirstFeature()
    labels = rule.assign(X)
    inside = [labels == 0, (labels == 2) & (y != 1) & (y < 4)]
    each = [model_of(X[rows], y[rows], request.param) for rows in inside]
    class_rows = np.array([np.bincount(y[rows], minlength=K) for rows in inside])
    model = Model(
        KERNEL,
        np.concatenate([one.support for one in each]),
        np.concatenate([one.coef for one in each], axis=1),
        np.concatenate([one.counts for one in each]),
        np.concatenate([one.bias for one in each]),
        scheme_for(K, request.param),
        Rule(rule, np.array([0, -1, 1]), class_rows),
    )
    model.check()
    return model, [(X[rows], y[rows]) for rows in inside]


def test_rows_are_decided_by_the_machines_of_their_block(blocks: Any, digits: Any) -> None:
    model, inside = blocks
    rows = digits[0][500:]
    values = decide(model, rows, "early")
    labels, found = model.rule.partition.assign(rows), model.scheme.classes_of(values)
    for block, label in ((0, 0), (1, 2)):
        mine = labels == label
        assert mine.sum() > 20
        # Without the classes that the block has not seen.
        svc = SVC(gamma=0.05, C=5.0, tol=1e-5)
        svc = OneVsRestClassifier(svc) if model.scheme.name == "ovr" else svc
        svc.fit(*inside[block])
        np.testing.assert_array_equal(found[mine], svc.predict(rows[mine]))
    unassigned = labels == 1
    assert unassigned.sum() > 20
    naive = decide(model, rows, "naive")
    np.testing.assert_allclose(values[unassigned], naive[unassigned], rtol=0, atol=1e-12)


def test_naive_prediction_is_the_sum_of_all_machines(blocks: Any, digits: Any) -> None:
    model, _ = blocks
    rows = digits[0][500:]
    scheme = model.scheme.name
    expected = np.zeros((len(rows), len(machines_of(K, scheme))))
    for one in model.blocks:
        kernel = rbf_kernel(rows.astype(float), one.support.astype(float), gamma=0.05)
        codes = np.repeat(np.arange(K), one.counts)
        for number, machine in enumerate(machines_of(K, scheme)):
            has = labels_of_classes(K, scheme)[codes, number] != 0
            coef = one.coef[machine.place(codes[has]), np.flatnonzero(has)]
            expected[:, number] += kernel[:, has] @ coef
    np.testing.assert_allclose(decide(model, rows, "naive"), expected, atol=1e-4)
    own = sum(model.own_sums(rows, np.full(len(rows), block)) for block in range(2))
    np.testing.assert_allclose(own, expected, atol=1e-4)
    assert decide(model, rows[:0], "early").shape == (0, expected.shape[1])
    with pytest.raises(InputError, match="needs SVMs that were calibrated"):
        decide(model, rows, "committee")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"class_rows": np.ones((1, K), np.int64)}, "2 blocks with rows of shape"),
        ({"class_rows": np.zeros((2, K), np.int64)}, "a block without rows"),
        ({"block_of_label": np.array([0, 1])}, "blocks that do not exist"),
        ({"block_of_label": np.array([0, -1, 2])}, "blocks that do not exist"),
    ],
)
def test_arrays_that_cannot_be_a_model_are_refused(
    change: dict[str, Any], why: str, blocks: Any
) -> None:
    with pytest.raises(InputError, match=f"not a model: .*{why}"):
        replace(blocks[0], rule=replace(blocks[0].rule, **change)).check()
