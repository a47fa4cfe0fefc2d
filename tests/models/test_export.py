"""Exported models, read and used by LIBSVM itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models import label_integers, libsvm_lines
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.exported import svm_of
from tests.models.conftest import two_moons

HERE = Execution(workers=0)
KERNELS = [
    Kernel("rbf", gamma=2.0),
    Kernel("poly", gamma=0.5, degree=2, coef0=1.0),
    Kernel("linear"),
    Kernel("sigmoid", gamma=0.1, coef0=-0.5),
]


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name} of Debian's libsvm-tools, which is not installed")
    return found


def libsvm_decisions(model_file: Path, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    svmutil = pytest.importorskip("libsvm.svmutil")
    model = svmutil.svm_load_model(str(model_file))
    X = sparse.csr_matrix(rows, dtype=np.float64)
    labels, _, values = svmutil.svm_predict(np.zeros(X.shape[0]), X, model, "-q")
    return np.array(labels), np.array(values)[:, 0]


@pytest.mark.one_quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_libsvm_computes_the_same_decisions(
    kept_run: Any, tmp_path: Path, kernel: Kernel, is_sparse: bool
) -> None:
    made = kept_run(kernel, is_sparse=is_sparse, labels=(3, 7))
    found = made.run.export(tmp_path / "m.model")
    test = made.data.open_part("test")
    labels, values = libsvm_decisions(tmp_path / "m.model", test.rows.read(0, 100))
    ours = made.run.decision_function(test.url, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours, atol=1e-5)
    sure = np.abs(ours) >= 1e-5
    assert (labels == made.run.predict(test.url, execution=HERE))[sure].all()
    assert set(labels) == {3, 7}
    assert found["labels"] == [3, 7]
    assert found["n_support"] == len(made.svc.support_)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    "how",
    [
        {"method": "nystrom", "rank": 30},
        {"method": "ltpu", "centres": 30},
        {"method": "greedy", "basis": 20},
        {"method": "bagging", "members": 3, "fit_intercept": True},
        {"method": "cascade", "leaves": 2, "decide": "mean"},
    ],
    ids=lambda how: how["method"],
)
def test_approximations_that_are_one_sum_of_kernel_values_are_exported(
    how: dict[str, Any], tmp_path: Path
) -> None:
    api.ingest(two_moons(300, 0), tmp_path / "d.zarr", test=two_moons(80, 1), scale="minmax")
    words = {"gamma": 4.0, "C": 2.0, "execution": HERE, "quiet": True, "report": False, **how}
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", **words)
    run.export(tmp_path / "m.model")
    test = DataSet.open(tmp_path / "d.zarr/test")
    _, values = libsvm_decisions(tmp_path / "m.model", test.rows.read(0, 80))
    ours = run.decision_function(test.url, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours, atol=1e-6 * abs(ours).max())
    with pytest.raises(InputError, match=f"those of a model of {how['method']} are not"):
        run.to_sklearn()


def test_svm_predict_and_svm_scale_take_what_is_exported(kept_run: Any, tmp_path: Path) -> None:
    svm_predict, svm_scale = tool("svm-predict"), tool("svm-scale")
    made = kept_run()
    found = made.run.export(tmp_path / "m.model")
    assert found["range"] == str(tmp_path / "m.model.range")
    raw, scaled, out = (tmp_path / name for name in ("raw.txt", "scaled.txt", "out.txt"))
    dump_svmlight_file(made.X_test, made.y_test, str(raw), zero_based=False)
    with scaled.open("w") as file:
        subprocess.run([svm_scale, "-r", found["range"], raw], stdout=file, check=True)
    subprocess.run(
        [svm_predict, scaled, tmp_path / "m.model", out], check=True, capture_output=True
    )
    ours = made.run.decision_function(made.X_test, execution=HERE)
    # svm-scale writes six digits.
    sure = np.abs(ours) > 1e-3
    assert sure.mean() > 0.95
    assert (np.loadtxt(out) == made.run.predict(made.X_test, execution=HERE))[sure].all()


@pytest.mark.one_quick
@pytest.mark.parametrize("scale", ["minmax", "standard"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_range_file_scales_as_the_run_does(
    kept_run: Any, tmp_path: Path, scale: str, is_sparse: bool
) -> None:
    made = kept_run(scale=scale, is_sparse=is_sparse)
    made.run.export(tmp_path / "m.model")
    lines = (tmp_path / "m.model.range").read_text().splitlines()
    assert lines[0] == "x"
    lower, upper = map(float, lines[1].split())
    table = np.array([[float(cell) for cell in line.split()] for line in lines[2:]])
    assert table[:, 0].tolist() == [1, 2, 3, 4]
    low, high = table[:, 1], table[:, 2]
    # What svm-scale.c does: single-valued features are left out, the others mapped by a line.
    flat = low == high
    width = np.where(flat, 1, high - low)
    by_range = lower + (upper - lower) * (made.X_test.astype(float) - low) / width
    ours = made.run.scale(sparse.csr_array(made.X_test) if is_sparse else made.X_test)
    ours = ours.toarray() if is_sparse else ours
    np.testing.assert_allclose(np.where(flat, 0, by_range), ours, rtol=1e-6, atol=1e-6)
    assert flat.tolist() == [False, False, False, not is_sparse or scale == "standard"]
    if shutil.which("svm-scale"):
        dump_svmlight_file(made.X_test, made.y_test, str(tmp_path / "raw.txt"), zero_based=False)
        text = subprocess.run(
            ["svm-scale", "-r", tmp_path / "m.model.range", tmp_path / "raw.txt"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        cells = [dict(re.findall(r"(\d+):(\S+)", line)) for line in text.splitlines()]
        theirs = [[float(cell.get(str(j), 0)) for j in (1, 2, 3, 4)] for cell in cells]
        np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-6)


def test_nothing_scaled_needs_no_range_and_unit_length_is_said(
    kept_run: Any, tmp_path: Path
) -> None:
    assert kept_run(scale="none").run.export(tmp_path / "a.model")["range"] is None
    found = kept_run(scale="unit").run.export(tmp_path / "b.model")
    assert found["range"] is None
    assert "unit length" in found["notes"][0]
    assert sorted(p.name for p in tmp_path.glob("*.model*")) == ["a.model", "b.model"]


def test_alpha_of_repeated_rows_is_shared_out_again(kept_run: Any, tmp_path: Path) -> None:
    made = kept_run(repeats=True)
    found = made.run.export(tmp_path / "m.model")
    svc = svm_of(made.run)
    half = made.data.n_rows // 2
    support = svc.support_
    assert set(support % half) == set(support[support < half])
    assert found["n_support"] == len(support) == 2 * len(set(support % half))
    assert np.abs(svc.dual_coef_).max() <= 10.0 * (1 + 1e-12)
    test = made.data.open_part("test")
    _, values = libsvm_decisions(tmp_path / "m.model", test.rows.read(0, 100))
    expected = made.svc.decision_function(test.rows.read(0, 100))
    np.testing.assert_allclose(values, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([-1, 1], (-1, 1)),
        ([1, 2], (1, 2)),
        ([0, 1], (0, 1)),
        (["a", "b"], (-1, 1)),
        ([0.5, 1], (-1, 1)),
        ([0, 2**31], (-1, 1)),
    ],
)
def test_labels_that_are_no_integers_are_mapped(classes: list[Any], expected: Any) -> None:
    assert label_integers(classes) == expected


def test_names_of_classes_are_said(kept_run: Any, tmp_path: Path) -> None:
    made = kept_run(labels=("no", "yes"))
    notes = made.run.export(tmp_path / "m.model")["notes"]
    assert "1 stands for 'yes', -1 for 'no'" in notes[0]
    assert set(made.run.predict(made.X_test, execution=HERE)) == {"no", "yes"}


def test_numbers_are_written_to_the_digits_that_restore_them() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((20, 3)).astype(np.float32)
    coef = rng.standard_normal(20) / 3
    lines = list(libsvm_lines(Kernel("rbf", gamma=1 / 3), Z, coef, 0.1, (-1, 1)))
    assert lines[:2] == ["svm_type c_svc\n", "kernel_type rbf\n"]
    assert float(lines[2].split()[1]) == 1 / 3
    assert float(lines[5].split()[1]) == -0.1
    rows = [line.split() for line in lines[lines.index("SV\n") + 1 :]]
    order = np.argsort(coef < 0, kind="stable")
    assert [float(row[0]) for row in rows] == coef[order].tolist()
    cells = [[np.float32(cell.split(":")[1]) for cell in row[1:]] for row in rows]
    assert np.array_equal(np.array(cells, np.float32), Z[order])


def test_libsvm_has_no_laplacian_kernel(kept_run: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="LIBSVM has no laplacian"):
        list(libsvm_lines(Kernel("laplacian"), np.ones((1, 1)), np.ones(1), 0.0, (-1, 1)))
    made = kept_run(exact=False)
    with pytest.raises(InputError, match="exact model is not committed"):
        made.run.export(tmp_path / "m.model")
    with pytest.raises(InputError, match="format"):
        kept_run().run.export(tmp_path / "m.model", format="pmml")
    assert not (tmp_path / "m.model").exists()
