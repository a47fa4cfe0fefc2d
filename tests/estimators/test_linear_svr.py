"""LinearDCSVR against scikit-learn's LinearSVR with a tight tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import LinearDCSVR, to_libsvm, to_onnx

TIGHT = {"max_iter": 10**6, "random_state": 0}
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
losses = pytest.mark.parametrize("loss", LOSSES)


@pytest.fixture(scope="module")
def diabetes() -> tuple[Any, Any]:
    X, z = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X).astype(np.float32), z


def primal(fitted: Any, X: Any, z: Any, weight: Any = 1.0) -> float:
    """Return the primal objective; the weight of the constant counts."""
    bias = float(np.ravel(fitted.intercept_)[0])
    beyond = np.maximum(0.0, np.abs(z - X @ fitted.coef_ - bias) - fitted.epsilon)
    beyond = beyond**2 if fitted.loss == LOSSES[1] else beyond
    scaling = fitted.intercept_scaling if fitted.fit_intercept else np.inf
    regular = 0.5 * (fitted.coef_ @ fitted.coef_ + (bias / scaling) ** 2)
    return float(regular + fitted.C * np.sum(weight * beyond))


@losses
@pytest.mark.parametrize(
    "how",
    [{}, {"fit_intercept": False}, {"intercept_scaling": 10.0}, {"epsilon": 0.0}],
    ids=["usual", "no intercept", "scaling", "no tube"],
)
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_same_answer_as_linear_svr(
    diabetes: tuple[Any, Any], loss: str, how: dict[str, Any], is_sparse: bool
) -> None:
    X, z = diabetes
    rows = sparse.csr_array(X) if is_sparse else X
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(z))
    words = {"C": 0.5, "epsilon": 5.0, "loss": loss, **TIGHT, **how}
    peer = LinearSVR(dual=True, tol=1e-9, **words)
    peer.fit(rows.astype(np.float64), z, sample_weight=weight)
    ours = LinearDCSVR(dual=True, tol=1e-6, **words).fit(rows, z, sample_weight=weight)
    value = primal(ours, X.astype(np.float64), z, weight)
    assert value == pytest.approx(primal(peer, X.astype(np.float64), z, weight), rel=1e-6)
    assert -ours.objective_ == pytest.approx(value, rel=1e-6)
    assert 0.0 <= ours.gap_ < 1e-6 * value
    assert ours.violation_ <= 1e-6
    assert ours.coef_.shape == peer.coef_.shape
    np.testing.assert_allclose(ours.predict(rows), peer.predict(rows.astype(np.float64)), atol=2e-2)


def test_the_primal_solver_has_the_same_answer(diabetes: tuple[Any, Any]) -> None:
    X, z = diabetes
    peer = LinearSVR(loss=LOSSES[1], dual=False, epsilon=2.0, tol=1e-10, **TIGHT)
    peer.fit(X.astype(np.float64), z)
    words = {"loss": LOSSES[1], "epsilon": 2.0, "tol": 1e-6, **TIGHT}
    dual, newton = (LinearDCSVR(dual=dual, **words).fit(X, z) for dual in (True, False))
    for ours, close in ((dual, 1e-2), (newton, 1e-4)):
        np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=close)
    assert newton.n_iter_ < 10 < dual.n_iter_
    assert newton.gap_ < 1e-9 * primal(newton, X, z)
    chosen = LinearDCSVR(**words).fit(X, z)  # rows are more than features
    np.testing.assert_array_equal(chosen.coef_, newton.coef_)


@losses
def test_repeats_are_weights_and_units_do_not_matter(diabetes: tuple[Any, Any], loss: str) -> None:
    X, z = diabetes[0][:200], diabetes[1][:200]
    weight = np.random.default_rng(0).integers(1, 4, len(z))
    index = np.random.default_rng(1).permutation(np.repeat(np.arange(len(z)), weight))
    words = {"epsilon": 5.0, "loss": loss, "tol": 1e-3, "dual": True, **TIGHT}
    one = LinearDCSVR(**words).fit(X, z, sample_weight=weight)
    two = LinearDCSVR(**words).fit(X[index], z[index])
    np.testing.assert_array_equal(one.coef_, two.coef_)
    unit = 2.0**30
    scaled = {"epsilon": 5.0 * unit, "tol": 1e-3 * unit}
    scaled["C"] = unit if loss == LOSSES[0] else 1.0
    three = LinearDCSVR(**words | scaled).fit(X, z * unit, sample_weight=weight)
    # The order of variables follows from their targets.
    np.testing.assert_allclose(three.coef_, one.coef_ * unit, rtol=1e-4)


def test_limits_are_reported(diabetes: tuple[Any, Any]) -> None:
    X, z = diabetes
    with pytest.warns(ConvergenceWarning, match="not solved to tol"):
        few = LinearDCSVR(max_iter=2, tol=1e-9).fit(X, z)
    assert few.n_iter_ == 2
    assert few.gap_ > 0.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"loss": "hinge"}, "loss must be one of epsilon_insensitive"),
        ({"dual": False}, 'dual must be True or "auto" with loss="epsilon_insensitive"'),
        ({"dual": "no"}, 'dual must be True, False or "auto"'),
        ({"loss": LOSSES[1], "tol": 1.0}, "tol must be below 1 where the primal problem"),
        ({"verbose": -1}, "verbose must be True, False or a whole number"),
        ({"epsilon": -1.0}, "epsilon must be a number, 0 or more"),
        ({"C": 0.0}, "C must be a positive number"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"intercept_scaling": 0.0}, "intercept_scaling is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"fit_intercept": "yes"}, "fit_intercept is 'yes'"),
    ],
)
def test_what_is_impossible_is_refused(
    diabetes: tuple[Any, Any], words: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        LinearDCSVR(**words).fit(*diabetes)


def test_onnx_has_its_weights_and_libsvm_none(diabetes: tuple[Any, Any], tmp_path: Any) -> None:
    runtime = pytest.importorskip("onnxruntime")
    X, z = diabetes
    ours = LinearDCSVR(tol=1e-2).fit(X, z)
    session = runtime.InferenceSession(
        to_onnx(ours).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (values,) = session.run(None, {"rows": X})
    np.testing.assert_allclose(values, ours.predict(X), rtol=1e-6)
    with pytest.raises(InputError, match="not a LinearDCSVR"):
        to_libsvm(ours, tmp_path / "m.model")


def test_real_rows(shared_data: Callable[[str], Any]) -> None:
    found = shared_data("cpusmall")
    X = StandardScaler().fit_transform(found["X_train"]).astype(np.float32)
    z = found["y_train"].astype(np.float64)
    words = {"C": 0.1, "epsilon": 1.0, "loss": LOSSES[1], "max_iter": 10**6}
    ours = LinearDCSVR(**words).fit(X, z)
    peer = LinearSVR(dual=False, tol=1e-8, **words).fit(X.astype(np.float64), z)
    value = primal(peer, X.astype(np.float64), z)
    assert primal(ours, X.astype(np.float64), z) == pytest.approx(value, rel=1e-6)
