"""Decision values against scikit-learn and against sums written out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from dcsvm_dask.clustering import InputPartition
from dcsvm_dask.clustering.tree import Tree
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models import Model, Rule, decide, decision_values, schemes
from dcsvm_dask.runtime.execution import Execution

KERNELS = [
    Kernel("rbf", gamma=2.0),
    Kernel("poly", gamma=0.5, degree=3, coef0=1.0),
    Kernel("linear"),
    Kernel("sigmoid", gamma=0.1, coef0=-0.5),
]
HERE = Execution(workers=0)
KeptRun = Any


@pytest.mark.one_quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-3), ("float64", 1e-9)])
def test_exact_decisions_are_those_of_sklearn(
    kept_run: KeptRun, kernel: Kernel, is_sparse: bool, precision: str, tolerance: float
) -> None:
    made = kept_run(kernel, is_sparse=is_sparse)
    test = made.data.open_part("test")
    expected = made.svc.decision_function(test.rows.read(0, test.n_rows))
    found = made.run.decision_function(test.url, mode="exact", precision=precision, execution=HERE)
    scale = np.abs(made.svc.dual_coef_).sum()
    assert found.shape == (100,)
    np.testing.assert_allclose(found, expected, atol=tolerance * max(1.0, 1e-3 * scale))
    if precision == "float64":
        labels = made.run.predict(test.url, precision=precision, execution=HERE)
        assert (labels == made.svc.predict(test.rows.read(0, test.n_rows))).all()


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_far_pairs_may_be_skipped_within_the_budget(name: str) -> None:
    rng = np.random.default_rng(0)
    X = (20 * rng.random((3000, 2))).astype(np.float32)
    Z = (20 * rng.random((5000, 2))).astype(np.float32)
    coef = rng.standard_normal(5000)
    kernel = Kernel(name, gamma=2.0)
    model = whole(kernel, Z.copy(), coef.copy(), 0.25)
    expected = pairwise_kernels(X.astype(float), Z.astype(float), name, gamma=2.0) @ coef + 0.25
    for compacted in (False, True):
        if compacted:
            model.compact()
            assert not np.array_equal(model.coef[0], coef)
        np.testing.assert_allclose(decide(model, X), expected, atol=5e-4)
        exact = decide(model, X, dtype=np.float64)
        np.testing.assert_allclose(exact, expected, atol=1e-8)


def test_early_decisions_are_those_of_each_block(kept_run: KeptRun) -> None:
    made = kept_run()
    test = made.data.open_part("test").rows.read(0, 100)
    blocks = made.partition.assign(test)
    expected = np.array(
        [made.machines[b].decision_function(x[None])[0] for b, x in zip(blocks, test, strict=True)]
    )
    found = made.run.decision_function(
        made.X_test, mode="early", precision="float64", execution=HERE
    )
    assert len(np.unique(blocks)) == 3
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_few_rows_look_at_the_machines_of_their_own_blocks_alone(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    support = rng.random((900, 5)).astype(np.float32)
    offsets = np.array([0, 100, 100, 150, 850, 900])
    coef, bias = rng.standard_normal(900), rng.standard_normal(5)
    centres = np.arange(5, dtype=np.float32)[:, None] * np.ones(5, dtype=np.float32)
    partition = InputPartition(Tree.flat(5), centres, cosine=False)
    counts, rule = np.diff(offsets)[:, None], Rule(partition, np.arange(5))
    model = Model(kernel, support, coef[None, :], counts, bias[:, None], rule=rule)
    looked_at = []

    def noted(of: Kernel, X: Any, own: Any) -> Any:
        looked_at.append(len(own))
        return deviation(of, X, own)

    deviation = schemes.deviation
    monkeypatch.setattr(decision_values, "deviation", noted)
    monkeypatch.setattr(schemes, "deviation", noted)
    X = centres[[0, 2, 2, 4]] + rng.normal(0, 0.01, (4, 5)).astype(np.float32)
    for rows in (X, X[:1], X[1:3]):
        found, exact = (decide(model, rows, "early", dtype=t) for t in (np.float32, np.float64))
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-3)
    assert sum(looked_at) <= 3 * 200


def test_naive_decisions_are_the_sum_of_all_machines_without_biases(kept_run: KeptRun) -> None:
    made = kept_run()
    test = made.data.open_part("test").rows.read(0, 100)
    expected = sum(m.decision_function(test) - m.intercept_ for m in made.machines)
    found = made.run.decision_function(
        made.X_test, mode="naive", level=2, precision="float64", execution=HERE
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_row_whose_block_had_no_training_rows_gets_the_naive_sum() -> None:
    class Sides:
        n_blocks = 2

        def assign(self, X: np.ndarray) -> np.ndarray:
            return (X[:, 0] > 0).astype(np.int32)

    rng = np.random.default_rng(1)
    Z, X = (rng.standard_normal((n, 2)).astype(np.float32) for n in (30, 50))
    coef = rng.standard_normal(30)
    model = Model(
        Kernel("rbf", gamma=0.5),
        Z,
        coef[None, :],
        np.array([[30]]),
        np.array([[2.0]]),
        rule=Rule(Sides(), np.array([0, -1])),  # type: ignore[arg-type]
    )
    K = pairwise_kernels(X.astype(float), Z.astype(float), "rbf", gamma=0.5)
    expected = K @ coef + np.where(X[:, 0] > 0, 0.0, 2.0)
    np.testing.assert_allclose(decide(model, X, "early", dtype=np.float64), expected, atol=1e-9)


def test_rows_of_another_width_and_modes_that_do_not_fit_are_refused() -> None:
    model = whole(Kernel("rbf"), np.ones((2, 3), np.float32), np.ones(2), 0.0)
    with pytest.raises(InputError, match="4 features"):
        decide(model, np.ones((5, 4), np.float32), "exact")
    with pytest.raises(InputError, match="level"):
        decide(model, np.ones((5, 3), np.float32), "early")
    with pytest.raises(InputError, match="naive"):
        decide(model, np.ones((5, 3), np.float32), "naive")


@pytest.mark.parametrize(
    "kernel", [*KERNELS, Kernel("laplacian", gamma=0.5)], ids=lambda kernel: kernel.name
)
def test_float32_and_float64_tell_the_same_side(kernel: Kernel) -> None:
    rng = np.random.default_rng(2)
    Z, X = (rng.standard_normal((n, 5)).astype(np.float32) for n in (400, 30))
    coef = 100 * rng.standard_normal(400)
    exact = decide(whole(kernel, Z, coef, 0.0), X, dtype=np.float64)
    rounded = decide(whole(kernel, Z, coef, 0.0), X)
    # There is something to get wrong, but for sums that are in float64 anyway.
    assert kernel.is_linear or np.abs(exact - rounded).max() > 1e-6
    for x, value in zip(X, exact, strict=True):
        for side in (1e-6, -1e-6):
            found = decide(whole(kernel, Z, coef, side - value), x[None])
            assert np.sign(found[0]) == np.sign(side)


def test_a_model_without_support_vectors_is_its_bias() -> None:
    model = whole(Kernel("rbf"), np.empty((0, 3), np.float32), np.empty(0), -1.5)
    assert decide(model, np.ones((5, 3), np.float32), "exact").tolist() == [-1.5] * 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"coef": np.ones((1, 3))},
        {"coef": np.ones((2, 2))},
        {"coef": np.array([[1.0, np.nan]])},
        {"counts": np.array([[3]])},
        {"counts": np.array([[1], [1]])},
        {"counts": np.array([[2], [-1], [1]]), "bias": np.zeros((3, 1))},
        {"counts": np.array([[1], [1]]), "bias": np.zeros((2, 1))},
        {"bias": np.zeros(1)},
        {"vote": "many"},
        {"vote": "committee"},
    ],
)
def test_arrays_that_do_not_fit_are_no_model(wrong: dict[str, Any]) -> None:
    whole(Kernel("rbf"), np.ones((2, 3), np.float32), np.ones(2), 0.0).check()
    arrays = {"coef": np.ones((1, 2)), "counts": np.array([[2]]), "bias": np.zeros((1, 1))}
    with pytest.raises(InputError, match="not a model"):
        Model(Kernel("rbf"), np.ones((2, 3), np.float32), **{**arrays, **wrong}).check()


def test_sparse_and_dense_rows_decide_alike(kept_run: KeptRun) -> None:
    made = kept_run(scale="none", is_sparse=True, n=120)
    a = made.run.decision_function(made.X_test, precision="float64", execution=HERE)
    b = made.run.decision_function(
        sparse.csr_array(made.X_test), precision="float64", execution=HERE
    )
    np.testing.assert_allclose(a, b, atol=1e-12)


def whole(kernel: Kernel, Z: np.ndarray, coef: np.ndarray, b: float) -> Model:
    return Model.of_sum(kernel, Z, coef, b)
