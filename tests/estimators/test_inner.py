"""The solver of working sets that estimators name: all lead to the solution of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from dcsvm_dask import api
from dcsvm_dask.diagnostics.status import status
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
)
from dcsvm_dask.solvers import INNER_SOLVERS
from dcsvm_dask.solvers.inner import solve as inner_solve
from dcsvm_dask.solvers.inner.newton import solve_newton
from tests.marks import long
from tests.small_run import IN_PROCESS
from tests.summary import summary

pytestmark = pytest.mark.filterwarnings("ignore:inner=.* did not converge")
WORDS: dict[str, Any] = {"gamma": 0.2, "tol": 1e-6}
KINDS = [
    (DCSVC(C=2.0, **WORDS), SVC(C=2.0, **WORDS)),
    (DCSVR(C=2.0, **WORDS), SVR(C=2.0, **WORDS)),
    (DCNuSVC(nu=0.3, **WORDS), NuSVC(nu=0.3, **WORDS)),
    (DCNuSVR(C=2.0, **WORDS), NuSVR(C=2.0, **WORDS)),
    (DCOneClassSVM(nu=0.2, **WORDS), OneClassSVM(nu=0.2, **WORDS)),
    (DCQuantileSVR(C=2.0, **WORDS), SVR(C=1.0, epsilon=0.0, **WORDS)),
]
"""Estimators and scikit-learn's: the median's loss is half the absolute error."""


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> Any:
    """Return standardised houses, 20 of them twice, and targets of the unit one."""
    file = shared_data("cadata")
    some = np.random.default_rng(0).permutation(len(file["X_train"]))[:300]
    X, y = file["X_train"][some].astype(np.float64), file["y_train"][some].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    y = (y - y.mean()) / y.std()
    return np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]])


def y_of(estimator: Any, y: np.ndarray) -> Any:
    return (y > 0).astype(int) if isinstance(estimator, DCSVC | DCNuSVC) else y


def values_of(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(getattr(model, "decision_function", model.predict)(X))


@pytest.mark.parametrize(
    "inner", ["newton", *(long(one) for one in INNER_SOLVERS if one != "newton")]
)
@pytest.mark.parametrize(("estimator", "peer"), [KINDS[0], *(long(*kind) for kind in KINDS[1:])])
def test_each_leads_to_scikit_learn_s_solution(
    estimator: Any, peer: Any, inner: str, rows: Any
) -> None:
    X, y = rows[0], y_of(estimator, rows[1])
    model = clone(estimator).set_params(inner=inner).fit(X, y)
    peer = clone(peer).fit(X.astype(np.float64), y)
    assert clone(model).inner == inner == model.get_params()["inner"]
    assert model.fit_status_ == 0
    np.testing.assert_allclose(values_of(model, X), values_of(peer, X), rtol=0, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("estimator", [KINDS[0][0], KINDS[1][0]])
def test_a_run_has_it(estimator: Any, rows: Any, tmp_path: Any) -> None:
    X, y = rows[0], y_of(estimator, rows[1])
    here = clone(estimator).fit(X, y)
    model = clone(estimator).set_params(inner="interior-point", run=tmp_path / "run").fit(X, y)
    np.testing.assert_allclose(values_of(model, X), values_of(here, X), rtol=0, atol=1e-4)
    assert api.open_run(tmp_path / "run").folder.header["settings"]["inner"] == "interior-point"
    assert type(estimator).from_run(tmp_path / "run").inner == "interior-point"
    model.set_params(inner="newton")
    with pytest.raises(InputError, match="begun with other parameters"):
        model.fit(X, y)


@pytest.mark.long
@pytest.mark.parametrize("estimator", [one for one, _ in KINDS])
@pytest.mark.parametrize("inner", ["simplex", None, ["smo"]])
def test_others_are_refused(estimator: Any, inner: Any, rows: Any) -> None:
    X, y = rows[0], y_of(estimator, rows[1])
    with pytest.raises(InputError, match="inner must be one of auto, smo, newton, interior-point"):
        clone(estimator).set_params(inner=inner).fit(X, y)


def no_newton(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Newton's method end at once."""
    monkeypatch.setitem(inner_solve._NAMED, "newton", partial(solve_newton, max_iter=0))


@pytest.mark.parametrize("estimator", [KINDS[0][0], *(long(one) for one, _ in KINDS[1:])])
def test_a_solver_that_does_not_converge_is_reported_once(
    estimator: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows[0], y_of(estimator, rows[1])
    no_newton(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for inner in ("auto", "smo", "interior-point"):
            clone(estimator).set_params(inner=inner).fit(X, y)
    with pytest.warns(DcsvmWarning) as reported:
        clone(estimator).set_params(inner="newton").fit(X, y)
    (message,) = [str(one.message) for one in reported]
    assert message == (
        "inner='newton' did not converge on 1 working set: SMO went on there, to the same "
        "tolerance; inner='auto' chooses by itself"
    )


@pytest.mark.long
def test_a_run_tells_of_working_sets_that_smo_ended(
    rows: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_newton(monkeypatch)
    X, y = rows[0], y_of(KINDS[0][0], rows[1])
    words: dict[str, Any] = {"inner": "newton", "clusters": (2,), "stop_at": 0}
    with pytest.warns(DcsvmWarning, match="did not converge on [0-9]+ working sets"):
        run = api.train(X, y, tmp_path / "run", execution=IN_PROCESS, quiet=True, **words)
    found = status(run.folder)
    assert found["fallbacks"]["level-1"] >= 2
    assert "conquer" in " ".join(found["fallbacks"])
    assert "SMO went on there, to the same tolerance; inner='auto' chooses" in summary(found)
    assert "left to SMO" in Path(run.report()).read_text()


@pytest.mark.long
def test_working_sets_beyond_a_matrix_have_it(shared_data: Callable[[str], Any]) -> None:
    file = shared_data("ijcnn1")
    X, y = file["X_train"][:2200].astype(np.float32), file["y_train"][:2200]
    words: dict[str, Any] = {"C": 1.0, "gamma": 2.0, "tol": 1e-5}
    peer = SVC(**words).fit(X.astype(np.float64), y)
    model = DCSVC(inner="projected-gradient", **words).fit(X, y)
    np.testing.assert_allclose(values_of(model, X), values_of(peer, X), rtol=0, atol=1e-3)
