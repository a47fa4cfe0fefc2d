"""Rows and labels of any library give the model that NumPy's give."""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np
import pytest
import zarr
from scipy import sparse
from sklearn.base import clone, is_regressor

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    BudgetedSVC,
    BudgetedSVR,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
    DCSVMSearchCV,
    LinearDCSVC,
    LinearDCSVR,
    given_rows,
)
from tests.marks import long

ESTIMATORS = [
    pytest.param(DCSVC(C=10.0), id="DCSVC"),
    pytest.param(LinearDCSVC(C=0.1), id="LinearDCSVC"),
]
WORDS = np.array(["barolo", "grignolino", "barbera"])


def check_same_model(estimator: Any, X: Any, y: Any, plain: Any, labels: Any = None) -> Any:
    """Check that X and y give the model of NumPy's, decide the same, and take its rows too."""
    rows, codes = plain
    one = clone(estimator).fit(rows, codes if labels is None else labels)
    other = clone(estimator).fit(X, y)
    expected = one.decision_function(rows)
    np.testing.assert_allclose(other.decision_function(X), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(other.predict(X), one.predict(rows))
    np.testing.assert_array_equal(other.classes_, one.classes_)
    if isinstance(one, DCSVC):
        np.testing.assert_array_equal(other.support_, one.support_)
        mine, theirs = other.dual_coef_, one.dual_coef_
        assert abs(mine - theirs).max() == 0.0
    else:
        np.testing.assert_array_equal(other.coef_, one.coef_)
    return other


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: X.astype(np.float64),
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X.tolist(),
        lambda X: np.array(X, dtype=object),
        lambda X: dask.array.from_array(X, chunks=(50, 4)),
        lambda X: zarr.array(X, chunks=(50, 4)),
    ],
    ids=["fortran", "float64", "strided", "lists", "object", "dask", "zarr"],
)
def test_arrays(estimator: Any, form: Any, wine: Any) -> None:
    X, y = wine
    check_same_model(estimator, form(X), y, wine)


@pytest.mark.parametrize("of_frame", [False, long(True)])
@pytest.mark.parametrize(
    "estimator",
    [
        DCSVR(),
        long(DCQuantileSVR(quantile=[0.2, 0.7])),
        long(DCNuSVR()),
        long(DCNuSVC(nu=0.2)),
        long(DCOneClassSVM()),
        long(LinearDCSVR(C=0.01, tol=1e-2)),
        long(DCSVR(run="run")),
        long(DCQuantileSVR(run="run")),
    ],
    ids=lambda one: f"{type(one).__name__}{'-run' if getattr(one, 'run', None) else ''}",
)
def test_dask_s_rows_targets_and_weights(
    estimator: Any, of_frame: bool, wine: Any, tmp_path: Any
) -> None:
    X, y = wine
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    y = y if isinstance(estimator, DCNuSVC) else X[:, 0] + weight
    given = [dask.array.from_array(one, chunks=50) for one in (X, y, weight)]
    if of_frame:
        pd = pytest.importorskip("pandas")
        import dask.dataframe as dd

        frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
        parts = (frame, pd.Series(y), pd.Series(weight))
        given = [dd.from_pandas(one, npartitions=3) for one in parts]
    here, other = clone(estimator), clone(estimator)
    if getattr(estimator, "run", None):
        here.run, other.run = tmp_path / "here", tmp_path / "other"
    here.fit(X, y, sample_weight=weight)
    other.fit(*given[:2], sample_weight=given[2])
    name = "coef_" if isinstance(estimator, LinearDCSVR) else "dual_coef_"
    np.testing.assert_array_equal(getattr(other, name), getattr(here, name))
    np.testing.assert_array_equal(other.predict(given[0]), here.predict(X))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_rows_that_may_not_be_written_to(estimator: Any, wine: Any) -> None:
    X, y = wine[0].copy(), wine[1].copy()
    X.flags.writeable = y.flags.writeable = False
    check_same_model(estimator, X, y, wine)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "form",
    [lambda y: y.tolist(), lambda y: y.astype(float), lambda y: dask.array.from_array(y)],
    ids=["list", "float", "dask"],
)
def test_labels(estimator: Any, form: Any, wine: Any) -> None:
    X, y = wine
    check_same_model(estimator, X, form(y), wine)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("dtype", [object, str])
def test_labels_that_are_words(estimator: Any, dtype: Any, wine: Any) -> None:
    X, y = wine
    fitted = check_same_model(estimator, X, WORDS[y].tolist(), wine, WORDS[y].astype(dtype))
    assert fitted.classes_.tolist() == sorted(WORDS)
    assert fitted.score(X, WORDS[y]) == 1.0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pandas(estimator: Any, wine: Any) -> None:
    pd = pytest.importorskip("pandas")
    X, y = wine
    names = [f"x{number}" for number in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(y)) * 7)
    fitted = check_same_model(estimator, frame, pd.Series(y, index=frame.index), wine)
    assert fitted.feature_names_in_.tolist() == names
    for labels in (pd.Categorical(WORDS[y]), pd.Series(WORDS[y], dtype="string")):
        check_same_model(estimator, frame, labels, wine, WORDS[y])
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[names[::-1]])


@pytest.mark.parametrize("kind", ["float64", "int64", "bool"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sparse_columns_of_pandas(estimator: Any, kind: str, wine: Any) -> None:
    pd = pytest.importorskip("pandas")
    X, y = wine
    rows = sparse.csr_array(np.where(X < 0.5, 0.0, np.ceil(4 * X)).astype(kind))
    names = [f"x{number}" for number in range(X.shape[1])]
    dtype = pd.SparseDtype(kind, np.zeros(1, kind).item())  # as of get_dummies(sparse=True)
    frame = pd.DataFrame(rows.toarray(), columns=names).astype(dtype)
    # Older versions of scikit-learn make frames of sparse booleans dense.
    dense = not sparse.issparse(given_rows.labelled_rows(clone(estimator), frame, y)[0])
    same = rows.astype(np.float32).toarray() if dense else rows.astype(np.float32)
    fitted = check_same_model(estimator, frame, y, (same, y))
    assert fitted.feature_names_in_.tolist() == names


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_polars(estimator: Any, wine: Any) -> None:
    pl = pytest.importorskip("polars")
    X, y = wine
    names = [f"x{number}" for number in range(X.shape[1])]
    frame = pl.DataFrame(X, schema=names)
    fitted = check_same_model(estimator, frame, pl.Series(y), wine)
    assert fitted.feature_names_in_.tolist() == names
    check_same_model(estimator, frame, pl.Series(WORDS[y].tolist()), wine, WORDS[y])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_array]
)
def test_sparse_rows(estimator: Any, form: Any, wine: Any) -> None:
    X, y = wine
    X = np.where(np.abs(X) < 0.5, np.float32(0), X)
    check_same_model(estimator, form(X), y, (sparse.csr_array(X), y))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_csr_of_any_shape_of_its_own(estimator: Any, wine: Any) -> None:
    X, y = wine
    X = np.where(np.abs(X) < 0.5, np.float32(0), X)
    plain = sparse.csr_array(X)
    long = plain.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    check_same_model(estimator, long, y, (plain, y))
    # The same entries, last first, each of them halved and given twice.
    data = np.repeat(plain.data, 2) / 2
    indices, indptr = np.repeat(plain.indices, 2), 2 * plain.indptr
    for at in range(len(y)):
        own = slice(indptr[at], indptr[at + 1])
        data[own], indices[own] = data[own][::-1], indices[own][::-1]
    twice = sparse.csr_array((data, indices, indptr), shape=X.shape)
    before = twice.nnz
    check_same_model(estimator, twice, y, (plain, y))
    assert twice.nnz == before


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_dense_rows_are_decided_by_a_sparse_model_and_the_reverse(
    estimator: Any, wine: Any
) -> None:
    X, y = wine
    dense, from_csr = clone(estimator).fit(X, y), clone(estimator).fit(sparse.csr_array(X), y)
    for fitted in (dense, from_csr):
        np.testing.assert_allclose(
            fitted.decision_function(sparse.csr_array(X)),
            fitted.decision_function(X),
            rtol=0,
            atol=1e-5,
        )
    np.testing.assert_allclose(
        from_csr.decision_function(X), dense.decision_function(X), rtol=0, atol=5e-3
    )


@pytest.mark.parametrize("kind", [DCSVC, DCSVR, DCNuSVR])
def test_weights_whose_products_are_not_finite_are_refused(kind: Any) -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(InputError, match=r"sample_weight holds 1e\+300: divide all weights"):
        kind().fit(X, y, sample_weight=[1.0, 1.0, 1.0, 1e300])


@pytest.mark.parametrize("estimator", [DCSVR(), DCNuSVR(), DCQuantileSVR(), LinearDCSVR()])
@pytest.mark.parametrize("kind", ["M8[D]", "M8[ns]", "m8[s]"])
def test_dates_are_no_targets(estimator: Any, kind: str) -> None:
    with pytest.raises(InputError, match=r"y is of type .*64.*, and a regressor learns numbers"):
        estimator.fit(np.eye(4), np.arange(4).astype(kind))


@pytest.mark.parametrize("estimator", [DCSVR(), DCNuSVR(), DCQuantileSVR(), LinearDCSVR()])
def test_words_are_no_targets(estimator: Any, wine: Any) -> None:
    with pytest.raises(InputError, match="y holds 'barolo', and a regressor learns numbers"):
        estimator.fit(wine[0], WORDS[wine[1]])


@pytest.mark.parametrize("fitted_to", ["pandas", "dask"])
@pytest.mark.parametrize(
    "estimator",
    [
        DCSVC(),
        DCSVC(kernel="precomputed"),
        DCNuSVC(nu=0.2),
        DCSVR(),
        DCOneClassSVM(),
        LinearDCSVC(C=0.01),
        LinearDCSVR(C=0.01, tol=1e-2),
        BudgetedSVC(budget=20),
        BudgetedSVR(budget=20),
        DCSVMSearchCV(DCSVC(), {"C": [1.0]}, cv=2),
    ],
)
def test_names_of_dask_s_columns(estimator: Any, fitted_to: str, wine: Any) -> None:
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    X, y = wine
    X = X @ X.T if getattr(estimator, "kernel", None) == "precomputed" else X
    here = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    there = dd.from_pandas(here, npartitions=3)
    given, later = (here, there) if fitted_to == "pandas" else (there, here)
    targets = X[:, 0] if is_regressor(estimator) else y
    model = clone(estimator).fit(given, targets)
    assert list(model.feature_names_in_) == list(here.columns)
    np.testing.assert_array_equal(model.predict(later), model.predict(given))
    methods = [name for name in ("predict", "decision_function") if hasattr(model, name)]
    for frame in (later, given):
        for name in methods:
            with pytest.raises(ValueError, match="same order"):
                getattr(model, name)(frame[frame.columns[::-1]])
    if hasattr(model, "score"):
        with pytest.raises(ValueError, match="same order"):
            model.score(later[later.columns[::-1]], targets)
    if hasattr(model, "partial_fit"):
        with pytest.raises(ValueError, match="same order"):
            model.partial_fit(later[later.columns[::-1]], targets)


def test_whole_numbers_of_few_values_are_classes_without_a_look_at_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    looked: list[Any] = []
    monkeypatch.setattr(given_rows, "check_classification_targets", looked.append)
    given_rows.labelled_rows(DCSVC(), X, np.arange(30))
    assert len(looked) == 1
    monkeypatch.setattr(given_rows, "check_classification_targets", None)
    for y in (np.arange(30) % 15 - 7, np.arange(30) % 2 == 0, np.arange(30, dtype=np.uint8) % 3):
        np.testing.assert_array_equal(given_rows.labelled_rows(DCSVC(), X, y)[1], y)
