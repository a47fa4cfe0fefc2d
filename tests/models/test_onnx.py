"""Models as ONNX graphs, run by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models import onnx_graph
from dcsvm_dask.models.onnx import expansion_onnx
from dcsvm_dask.runtime.execution import Execution
from tests.models.conftest import two_moons

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

HERE = Execution(workers=0)
KERNELS = [
    Kernel("rbf", gamma=2.0),
    Kernel("poly", gamma=0.5, degree=2, coef0=1.0),
    Kernel("linear"),
    Kernel("sigmoid", gamma=0.1, coef0=-0.5),
]


def run_onnx(model: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and decision values of a file or of a model in memory."""
    given = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = runtime.InferenceSession(given, providers=["CPUExecutionProvider"])
    label, decision = session.run(["label", "decision"], {"rows": np.asarray(X, np.float32)})
    assert decision.dtype == np.float32
    return label, decision


@pytest.mark.one_quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_onnx_runtime_computes_the_same_decisions(
    kept_run: Any, tmp_path: Path, kernel: Kernel, is_sparse: bool
) -> None:
    made = kept_run(kernel, is_sparse=is_sparse, labels=(3, 7))
    found = made.run.export(tmp_path / "m.onnx", format="onnx")
    labels, values = run_onnx(tmp_path / "m.onnx", made.X_test)
    X = sparse.csr_array(made.X_test) if is_sparse else made.X_test
    ours = made.run.decision_function(X, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours, atol=2e-6 * np.ptp(ours))
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, made.run.predict(X, execution=HERE))
    assert set(labels) == {3, 7}
    assert found["n_support"] == len(made.svc.support_)
    assert values.shape == (100,)
    # The data set was scaled, and so is SVC's input here.
    theirs = made.svc.decision_function(made.data.open_part("test").rows.read(0, 100))
    np.testing.assert_allclose(values, theirs, atol=1e-5 * np.ptp(ours))


@pytest.mark.one_quick
@pytest.mark.parametrize("scale", ["none", "minmax", "standard", "unit"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_graph_scales_rows_as_ingest_did(
    kept_run: Any, tmp_path: Path, scale: str, is_sparse: bool
) -> None:
    made = kept_run(Kernel("rbf", gamma=0.5), scale=scale, is_sparse=is_sparse)
    made.run.export(tmp_path / "m.onnx", format="onnx")
    # A row without a length, too.
    rows = np.concatenate([np.zeros((1, 4), np.float32), made.X_test])
    _, values = run_onnx(tmp_path / "m.onnx", rows)
    X = sparse.csr_array(rows) if is_sparse else rows
    ours = made.run.decision_function(X, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours, atol=2e-6 * np.ptp(ours))


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_batches_of_any_size_and_names_of_classes(kept_run: Any, tmp_path: Path, n: int) -> None:
    made = kept_run(labels=("no", "yes"))
    made.run.export(tmp_path / "m.onnx", format="onnx")
    X = two_moons(1000, 5)[0]
    labels, values = run_onnx(tmp_path / "m.onnx", X[:n])
    ours = made.run.decision_function(X, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours[:n], atol=1e-5)
    assert labels.shape == (n,)
    assert labels.tolist() == made.run.predict(X, execution=HERE)[:n].tolist()


@pytest.mark.parametrize(
    "how",
    [
        {"kernel": "laplacian"},
        {"method": "ltpu", "centres": 30},
        {"method": "bagging", "members": 3, "fit_intercept": True},
    ],
    ids=lambda how: how.get("method", "laplacian"),
)
def test_trained_runs_that_are_one_sum_of_kernel_values(
    how: dict[str, Any], tmp_path: Path
) -> None:
    api.ingest(two_moons(300, 0), tmp_path / "d.zarr", scale="minmax")
    words = {"gamma": 4.0, "C": 2.0, "execution": HERE, "quiet": True, "report": False, **how}
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", **words)
    run.export(tmp_path / "m.onnx", format="onnx")
    X = two_moons(80, 1)[0]
    labels, values = run_onnx(tmp_path / "m.onnx", X)
    ours = run.decision_function(X, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours, atol=1e-6 * np.ptp(ours))
    np.testing.assert_array_equal(labels, run.predict(X, execution=HERE))


@pytest.mark.one_quick
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_runs_of_many_classes(kernel: str, multiclass: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((330, 4)) * [1, 10, 0.1, 5]).astype(np.float32)
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] / [1, 10, 0.1] + 0.3 * X[:, 3:], axis=1)]
    api.ingest((X[:250], y[:250]), tmp_path / "d.zarr", scale="standard")
    how = {"kernel": kernel, "C": 2.0, "gamma": 0.3, "multiclass": multiclass}
    words = {"execution": HERE, "quiet": True, "report": False, "fit_intercept": True}
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", **how, **words)
    run.export(tmp_path / "m.onnx", format="onnx")
    labels, values = run_onnx(tmp_path / "m.onnx", X[250:])
    ours = run.decision_function(X[250:], precision="float64", execution=HERE)
    assert ours.shape == (80, 3)
    np.testing.assert_allclose(values, ours, atol=1e-6)
    assert labels.tolist() == run.predict(X[250:], execution=HERE).tolist()


def test_rows_that_were_merged_stay_so(kept_run: Any, tmp_path: Path) -> None:
    made = kept_run(repeats=True)
    twice = made.run.export(tmp_path / "m.model")["n_support"]
    assert made.run.export(tmp_path / "m.onnx", format="onnx")["n_support"] == twice // 2
    _, values = run_onnx(tmp_path / "m.onnx", made.X_test)
    ours = made.run.decision_function(made.X_test, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours, atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("rbf", gamma=1000.0),
        Kernel("rbf", gamma=1e-4),
        Kernel("laplacian", gamma=3.0),
        Kernel("poly", gamma=2.0, degree=7, coef0=1.0),
    ],
    ids=str,
)
def test_values_that_float32_would_spoil(kernel: Kernel) -> None:
    """Far from the origin, and large coefficients that cancel; beside sums in long double."""
    rng = np.random.default_rng(0)
    shift = 0.0 if kernel.name == "poly" else 1000.0
    Z = (rng.random((300, 5)) + shift).astype(np.float32)
    X = np.concatenate([Z[:50] + rng.normal(0, 1e-3, (50, 5)), Z[:20]]).astype(np.float32)
    coef = 1e4 * rng.standard_normal(300)
    model = expansion_onnx(kernel, Z, coef, 0.25, np.array([-1, 1]))
    labels, values = run_onnx(model, X)
    A, B = X.astype(np.longdouble), Z.astype(np.longdouble)
    apart = A[:, None] - B
    K = {
        "rbf": lambda: np.exp(-kernel.gamma * (apart**2).sum(axis=2)),
        "laplacian": lambda: np.exp(-kernel.gamma * np.abs(apart).sum(axis=2)),
        "poly": lambda: (kernel.gamma * A @ B.T + kernel.coef0) ** kernel.degree,
    }[kernel.name]()
    exact = (K @ coef.astype(np.longdouble) + 0.25).astype(float)
    np.testing.assert_allclose(values, exact, rtol=1e-6, atol=2e-7 * np.ptp(exact))
    np.testing.assert_array_equal(labels, np.where(exact > 0, 1, -1))


def test_what_has_no_graph_is_refused_and_nothing_is_written(
    kept_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "m.onnx"
    with pytest.raises(InputError, match="exact model is not committed"):
        kept_run(exact=False).run.export(target, format="onnx")
    made = kept_run()
    with pytest.raises(InputError, match="format must be libsvm or onnx, got 'pmml'"):
        made.run.export(target, format="pmml")
    monkeypatch.setattr(onnx_graph, "LARGEST", 1000)
    with pytest.raises(InputError, match="a file holds 2 GB: take LIBSVM's format"):
        made.run.export(target, format="onnx")
    monkeypatch.setattr(onnx_graph, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install onnx"):
        made.run.export(target, format="onnx")
    assert list(tmp_path.iterdir()) == []


def test_what_an_export_prints(kept_run: Any, tmp_path: Path) -> None:
    found = kept_run().run.export(tmp_path / "a.onnx", format="onnx")
    assert found["model"] == str(tmp_path / "a.onnx")
    assert "the graph scales rows" in found["notes"][0]
    assert f"{16 * found['n_support'] / 1e6:.3g} MB" in found["notes"][1]
    linear = kept_run(Kernel("linear"), scale="none").run
    assert linear.export(tmp_path / "b.onnx", format="onnx")["notes"] == []
    # Weights, not support vectors.
    assert (tmp_path / "b.onnx").stat().st_size < 1500
    [spec] = onnx.load(str(tmp_path / "b.onnx")).graph.input
    assert spec.name == "rows"
    assert [d.dim_value or d.dim_param for d in spec.type.tensor_type.shape.dim] == ["N", 4]
