"""libsvm and liblinear as runs: scikit-learn's machines on the same rows, and the exact answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.svm import SVC, LinearSVC

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.comparison import comparison, errors
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.reference import nodes as step
from dcsvm_dask.models import svc as models_svc
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.callbacks import StopAt
from tests.exported import svm_of
from tests.stored import labels_of, problem_of
from tests.summary import summary

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, C, GAMMA = 600, 4.0, 8.0
HERE = Execution(workers=0)
BIAS = {"method": "libsvm", "fit_intercept": True}
LINEAR = {"method": "liblinear", "kernel": "linear", "gamma": 1.0}


@pytest.fixture(scope="module", params=["dense", "sparse"])
def data(
    request: pytest.FixtureRequest,
    demo_rows: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> DataSet:
    dense = DataSet.open(demo_rows(ROWS))
    if request.param == "dense":
        return dense
    place = tmp_path_factory.mktemp("sparse") / "d.zarr"
    api.ingest((sparse.csr_array(dense.rows.read(0, ROWS)), labels_of(dense)), place)
    return DataSet.open(place)


@pytest.fixture
def train(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    def call(name: str = "run", execution: Execution = HERE, **how: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "quiet": True, "data": data.place, **how}
        return api.train(words.pop("data"), tmp_path / name, execution=execution, **words)

    return call


def decisions(run: api.Run) -> np.ndarray:
    return run.decision_function(run.folder.header["data"]["url"], precision="float64")


@pytest.mark.one_quick
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "rbf", "gamma": GAMMA},
        {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
        {"kernel": "sigmoid", "gamma": 0.1, "coef0": -0.5},
        {"kernel": "linear"},
    ],
    ids=lambda kernel: kernel["kernel"],
)
def test_libsvm_is_svc(
    kernel: dict[str, Any], data: DataSet, train: Callable[..., api.Run]
) -> None:
    run = train(**BIAS, **kernel)
    X, y = problem_of(data)
    svc = SVC(C=C, tol=1e-3, **kernel).fit(X, y)
    np.testing.assert_allclose(decisions(run), svc.decision_function(X), atol=1e-6)
    record = run.status()["stages"]["model-libsvm"]
    assert record["solved"]
    assert record["bias"] == pytest.approx(svc.intercept_[0], abs=1e-9)
    assert record["support"] == len(svc.support_)
    assert record["iterations"] == svc.n_iter_[0]
    assert 0 < record["fit_seconds"] < record["seconds"]
    np.testing.assert_allclose(
        svm_of(run).decision_function(X), svc.decision_function(X), atol=1e-6
    )


def test_its_objective_is_that_of_its_alphas_and_beside_the_exact_one(
    data: DataSet, train: Callable[..., api.Run]
) -> None:
    run, exact = train(**BIAS, tol=1e-5), train("exact", fit_intercept=True, tol=1e-5)
    X, y = problem_of(data)
    svc = SVC(C=C, gamma=GAMMA, tol=1e-5).fit(X, y)
    signed, S = svc.dual_coef_[0], X[svc.support_]
    K = np.exp(-GAMMA * cdist(S, S, "sqeuclidean"))
    wanted = 0.5 * signed @ K @ signed - np.abs(signed).sum()
    assert run.status()["objective"] == pytest.approx(wanted, rel=1e-9)
    assert run.status()["objective"] == pytest.approx(exact.status()["objective"], rel=1e-5)
    # It is compared, but does not say that it has converged: nobody has looked at all rows.
    records = [read_records(one.folder) for one in (run, exact)]
    found = comparison(records)
    assert found["problem"] == [1, 1]
    assert min(found["relative_error"]) == 0.0
    assert max(found["relative_error"]) < 1e-5
    assert "model-libsvm" in errors(records)["stage"]
    assert not run.status()["converged"]
    assert run.status()["violation"] is None


@pytest.mark.one_quick
@pytest.mark.parametrize("method", ["libsvm", "liblinear"])
def test_repeated_rows_count_as_often_as_they_are_there(
    method: str, data: DataSet, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    X, y = problem_of(data)
    often = np.random.default_rng(0).integers(1, 4, ROWS)
    repeated = X.astype(np.float32), labels_of(data)
    api.ingest(tuple(np.repeat(part, often, axis=0) for part in repeated), tmp_path / "d.zarr")
    how: dict[str, Any] = {**BIAS, "tol": 1e-6}
    machine: Any = SVC(C=C, gamma=GAMMA, tol=1e-6)
    if method == "liblinear":
        how = {**LINEAR, "C": 0.1, "loss": "squared_hinge", "dual": False, "tol": 1e-8}
        machine = LinearSVC(C=0.1, dual=False, tol=1e-8, fit_intercept=False)
    run = train("often", data=tmp_path / "d.zarr", **how)
    assert run.status()["variables"] == ROWS
    wanted = machine.fit(np.repeat(X, often, axis=0), np.repeat(y, often)).decision_function(X)
    found = run.decision_function(X.astype(np.float32), precision="float64")
    np.testing.assert_allclose(found, wanted, atol=2e-5)
    if method == "libsvm":  # each of them has its share
        again = svm_of(run)
        assert np.abs(again.dual_coef_).max() <= C
        assert abs(again.dual_coef_).sum() == pytest.approx(abs(machine.dual_coef_).sum(), rel=1e-5)
        np.testing.assert_allclose(again.decision_function(X), wanted, atol=2e-5)


@pytest.mark.one_quick
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    ("loss", "dual"), [("hinge", True), ("squared_hinge", True), ("squared_hinge", False)]
)
def test_liblinear_is_linear_svc(
    loss: str, dual: bool, fit_intercept: bool, data: DataSet, train: Callable[..., api.Run]
) -> None:
    how: dict[str, Any] = {"loss": loss, "dual": dual, "max_iter": 20_000}
    words = {**LINEAR, "C": 0.1, "fit_intercept": fit_intercept, "tol": 1e-5, **how}
    run = train(constant=2.0, **words)
    X, y = problem_of(data)
    how |= {"fit_intercept": fit_intercept, "intercept_scaling": 2.0, "tol": 1e-5}
    svc = LinearSVC(C=0.1, random_state=0, **how).fit(X, y)
    values = svc.decision_function(X)
    np.testing.assert_allclose(decisions(run), values, atol=1e-6)
    record = run.status()["stages"]["model-liblinear"]
    assert record["solved"]
    b = float(svc.intercept_[0]) / 2.0 if fit_intercept else 0.0
    slack = np.maximum(0.0, 1.0 - y * values)
    losses = slack if loss == "hinge" else slack**2
    wanted = 0.5 * (np.sum(svc.coef_**2) + b**2) + 0.1 * losses.sum()
    assert record["primal_objective"] == pytest.approx(wanted, rel=1e-6)
    again = svm_of(run)
    assert type(again) is LinearSVC
    np.testing.assert_allclose(again.decision_function(X), values, atol=1e-6)
    assert list(again.classes_) == data.classes
    assert again.get_params()["dual"] is dual


def test_liblinears_machine_is_a_libsvm_file(
    data: DataSet, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    svmutil = pytest.importorskip("libsvm.svmutil")
    run = train(**LINEAR, fit_intercept=True)
    assert run.export(tmp_path / "m.model")["n_support"] == 1
    X = sparse.csr_matrix(problem_of(data)[0])
    model = svmutil.svm_load_model(str(tmp_path / "m.model"))
    values = svmutil.svm_predict(np.zeros(ROWS), X, model, "-q")[2]
    np.testing.assert_allclose(np.array(values)[:, 0], decisions(run), atol=1e-5)


def test_what_ends_before_its_tolerance_says_so(train: Callable[..., api.Run]) -> None:
    run = train(**LINEAR, max_iter=1, tol=1e-9)
    assert not run.status()["stages"]["model-liblinear"]["solved"]
    assert "complete, NOT solved to its tolerance" in summary(run.status())
    enough = train("enough", **LINEAR, C=0.01, max_iter=50_000)
    assert "NOT" not in summary(enough.status())


@pytest.mark.one_quick
@pytest.mark.parametrize("how", [BIAS, LINEAR], ids=lambda how: how["method"])
def test_a_run_goes_on_where_it_was_stopped(
    how: dict[str, Any], train: Callable[..., api.Run]
) -> None:
    whole = train("whole", **how)
    stopped = train("stopped", callbacks=[StopAt("arrange")], **how)
    assert stopped.status()["state"] == "interrupted"
    assert list(stopped.status()["stages"]) == ["arrange"]
    resumed = api.resume(stopped.url, execution=HERE, quiet=True)
    assert resumed.status()["state"] == "complete"
    assert np.array_equal(decisions(whole), decisions(resumed))
    began = resumed.status()["stages"][f"model-{how['method']}"]["began"]
    again = api.resume(stopped.url, execution=HERE, quiet=True)  # nothing is done again
    assert again.status()["stages"][f"model-{how['method']}"]["began"] == began


@pytest.mark.long
def test_a_worker_trains_the_same_machine(
    train: Callable[..., api.Run], two_workers: Execution
) -> None:
    for how in (BIAS, LINEAR):
        here = train(f"{how['method']}-here", **how)
        there = train(f"{how['method']}-there", two_workers, **how)
        assert np.array_equal(decisions(here), decisions(there))


def test_a_patched_scikit_learn_is_not_what_trains(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Patched:
        def __init__(self, **_: Any) -> None:
            raise AssertionError("this is not scikit-learn's")

    monkeypatch.setattr(sklearn.svm, "SVC", Patched)
    monkeypatch.setattr(sklearn.svm, "LinearSVC", Patched)
    for how in (BIAS, LINEAR):
        assert train(how["method"], **how).status()["state"] == "complete"


def test_ctrl_c_is_heard_while_compiled_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal
    import threading
    import time

    go_on = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            step._in_own_thread(lambda: go_on.wait(240))
        assert time.monotonic() - began < 120
    finally:
        go_on.set()
        timer.join()
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ZeroDivisionError):
        step._in_own_thread(lambda: 1 / 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"method": "libsvm"}, "libsvm's SVM always has a bias.*--fit-intercept"),
        ({**BIAS, "kernel": "laplacian"}, "kernel must be .*, got 'laplacian'"),
        ({**BIAS, "cache": 0}, "cache must be .*, got 0"),
        ({**BIAS, "shrinking": 1}, "shrinking must be .*, got 1"),
        ({"method": "liblinear"}, "kernel must be linear here"),
        ({**LINEAR, "loss": "log"}, "loss must be .*, got 'log'"),
        ({**LINEAR, "dual": False}, "dual must be true for loss hinge"),
        ({**LINEAR, "constant": -1.0}, "constant must be .*, got -1.0"),
        ({**LINEAR, "max_iter": 0}, "max-iter must be .*, got 0"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, data: DataSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        api.train(data.place, tmp_path / "run", **words)
    assert not (tmp_path / "run").exists()


def test_without_scikit_learn_they_are_refused_with_what_to_install(
    data: DataSet,
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = train("begun", callbacks=[StopAt("arrange")], **BIAS)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    said = r"method: {} needs scikit-learn: pip install scikit-learn"
    for how in (BIAS, LINEAR):
        with pytest.raises(InputError, match=said.format(how["method"])):
            api.train(data.place, tmp_path / "run", **how)
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match=said.format("libsvm")):
        api.resume(begun.url, execution=HERE, quiet=True)
    assert begun.status()["method"] == "libsvm"  # it can be looked at
    with pytest.raises(InputError, match="something needs scikit-learn"):
        models_svc.require_sklearn("something")
