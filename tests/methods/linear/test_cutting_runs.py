"""OCAS and CPA as runs on real rows: coordinate descent's answer, however rows are shared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmError, DcsvmWarning, InputError
from dcsvm_dask.methods import problem, run_data
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.solvers import solve_cutting, solve_linear_dual
from dcsvm_dask.tasks import Classification
from tests.left import KilledError
from tests.marks import long
from tests.methods.linear.runs import (
    HERE,
    ROWS,
    SQUARED,
    Killing,
    KillingAt,
    Rows,
    model_of,
    primal,
    weights_of,
)

C, GAP = 0.1, 1e-5


@pytest.fixture
def train(train_linear: Callable[..., api.Run]) -> Callable[..., api.Run]:
    return partial(train_linear, method="ocas", fit_intercept=True, C=C, tol=GAP)


def planes_of(run: api.Run) -> list[dict[str, Any]]:
    """Return the records of the rounds of a run."""
    return [record for name, record in run.status()["stages"].items() if name.startswith("planes")]


def least(X: Any, dual: Any, constant: float = 1.0) -> float:
    """Return the least objective, by dual coordinate descent."""
    return -solve_linear_dual([X], dual, constant=constant, tol=1e-7).objective


@pytest.mark.parametrize(
    ("how", "dense"),
    [
        ({"parts": 3}, False),
        long({}, True),
        long({"parts": 3, "chunk_rows": 64}, True),
        long({"loss": SQUARED}, False),
        long({"loss": SQUARED, "parts": 2}, True),
        long({"parts": 2, "fit_intercept": False}, False),
        long({"parts": 2, "constant": 2.0, "share": 0.3}, False),
        long({"method": "cpa", "tol": 1e-2}, False),
        long({"method": "cpa", "tol": 3e-2, "parts": 2}, False),
        long({"parts": 2, "share": 1.0, "tol": 1e-3}, False),
        long({"parts": 2, "line_search": False, "share": 1.0, "tol": 3e-2}, False),
    ],
)
def test_classes_are_those_of_coordinate_descent(
    how: dict[str, Any], dense: bool, classes: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    X, y = classes
    rows = (X.toarray(), y) if dense else classes
    if "chunk_rows" in how:
        how = dict(how)
        api.ingest(rows, tmp_path / "data", chunk_rows=how.pop("chunk_rows"))
    run, squared, tol = train(rows, **how), "loss" in how, how.get("tol", GAP)
    constant = how.get("constant", 1.0) * how.get("fit_intercept", True)
    dual = Classification(squared=squared).dual(y, np.full(len(y), C))
    best = least(X, dual, constant)
    found = model_of(run)
    assert found["violation"] <= tol
    assert run.status()["converged"]
    assert best * (1.0 - 1e-9) <= found["primal_objective"] <= best * (1.0 + tol)
    assert -found["objective"] <= best * (1.0 + 1e-9)
    assert found["gap"] == pytest.approx(found["primal_objective"] + found["objective"])
    w, b = weights_of(run, X.shape[1])
    scaled = b[0] / constant if constant else 0.0
    beyond = 0.5 * (scaled**2 - b[0] ** 2)  # the bias' own share of the regularizer
    value = primal(X, y, w[0], b[0], squared=squared, cost=C) + beyond
    assert value == pytest.approx(found["primal_objective"], rel=1e-5)
    gaps = [point["gap"] for point in run.history()]
    assert gaps[-1] <= tol * found["primal_objective"]


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(
    "words",
    [
        {"task": "regression", "epsilon": 0.1},
        {"task": "regression", "epsilon": 0.1, "loss": "squared_epsilon_insensitive"},
        {"task": "quantile", "quantile": 0.3},
    ],
)
def test_targets_are_those_of_coordinate_descent(
    parts: int, words: dict[str, Any], targets: Rows, train: Callable[..., api.Run]
) -> None:
    found = model_of(train(targets, parts=parts, tol=1e-4, **words))
    # `dcd` has LIBLINEAR's answers.
    best = -model_of(train(targets, "dcd", method="dcd", **words))["objective"]
    assert best * (1.0 - 1e-6) <= found["primal_objective"] <= best * (1.0 + 1e-4)


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_many_classes_have_an_svm_each(
    scheme: str, parts: int, wine: tuple[np.ndarray, np.ndarray], train: Callable[..., api.Run]
) -> None:
    X, y = wine
    run = train(wine, multiclass=scheme, parts=parts, tol=1e-4)
    pairs = [(0, None), (1, None), (2, None)] if scheme == "ovr" else [(0, 1), (0, 2), (1, 2)]
    last = planes_of(run)[-1]["of_svms"]
    for svm, (one, other) in zip(last, pairs, strict=True):
        rows = np.flatnonzero((y == one) | (y == other)) if other is not None else np.arange(len(y))
        signs = np.where(y[rows] == one, 1.0, -1.0)
        best = least(X[rows], Classification().dual(signs, np.full(len(rows), C)))
        assert best * (1.0 - 1e-9) <= svm["objective"] <= best * (1.0 + 1e-4)
    assert run.evaluate((X, y), execution=HERE)["accuracy"] > 0.95


@pytest.mark.long
def test_parts_iterate_as_all_rows_in_memory(classes: Rows, train: Callable[..., api.Run]) -> None:
    X, y = classes
    whole = solve_cutting(
        X, Classification().dual(y, np.full(len(y), C)), constant=1.0, unit="cost", tol=1e-3
    )
    records = planes_of(train(classes, parts=4, unit="cost", tol=1e-3))
    assert abs(len(records) - whole.n_iter) <= 3
    # Later ones differ by as much as the reduced problem is solved to.
    for record, step in zip(records[:4], whole.history[:4], strict=True):
        assert record["primal_objective"] == pytest.approx(step.objective, rel=1e-4)
        assert -record["objective"] == pytest.approx(step.bound, rel=1e-4, abs=1e-9)
    values = [record["primal_objective"] for record in records]
    assert (np.diff(values) <= 1e-12 * values[0]).all()


@pytest.mark.long
@pytest.mark.parametrize("how", [{"parts": 2}, {}, {"parts": 2, "method": "cpa", "tol": 0.1}])
def test_a_run_that_died_ends_at_the_same_model(
    how: dict[str, Any],
    classes: Rows,
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dcsvm_dask.methods.cutting.options.FIRST_WORK", 1e5)
    how = {"tol": 1e-2, **how}
    whole = train(classes, "whole", **how)
    commits = sum(len(whole.folder.nodes(stage)) for stage in whole.folder.stages())
    Killing(monkeypatch, commits // 2)
    with pytest.raises(KilledError):
        train(classes, "cut", **how)
    again = api.resume(tmp_path / "cut", execution=HERE, quiet=True)
    one, other = model_of(again), model_of(whole)
    assert (one["objective"], one["bias"]) == (other["objective"], other["bias"])
    X = classes[0].toarray()
    assert np.array_equal(*(run.decision_function(X, execution=HERE) for run in (again, whole)))


@pytest.mark.long
@pytest.mark.parametrize("tol", [0.2, 1e-3])
@pytest.mark.parametrize("died_at", ["output-0000", "cut-0001", "commit"])
def test_a_run_of_many_svms_that_died_goes_on_with_another_tolerance(
    tol: float,
    died_at: str,
    wine: tuple[np.ndarray, np.ndarray],
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = wine
    how: dict[str, Any] = {"multiclass": "ovr", "parts": 2, "tol": 1e-2}
    whole = planes_of(train(wine, "whole", **how))
    # In a round in which some of the SVMs are within the tolerance already.
    number = next(
        i for i, one in enumerate(whole) if min(one["violations"]) <= 1e-2 < one["violation"]
    )
    KillingAt(monkeypatch, f"planes-{number + 2:03d}", died_at)
    with pytest.raises(KilledError):
        train(wine, "cut", **how)
    again = api.resume(tmp_path / "cut", tol=tol, execution=HERE, quiet=True)
    assert again.status()["converged"]
    for i, svm in enumerate(planes_of(again)[-1]["of_svms"]):
        best = least(X, Classification().dual(np.where(y == i, 1.0, -1.0), np.full(len(y), C)))
        assert best * (1.0 - 1e-9) <= svm["objective"] <= best * (1.0 + tol)
        assert svm["bound"] <= best * (1.0 + 1e-9)


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_a_resumed_run_goes_on_from_its_planes(
    parts: int, classes: Rows, train: Callable[..., api.Run]
) -> None:
    run = train(classes, parts=parts, tol=0.1)
    before = planes_of(run)
    again = api.resume(run.url, tol=1e-3, execution=HERE, quiet=True)
    after = planes_of(again)
    assert len(after) > len(before)
    assert again.status()["converged"]
    assert after[-1]["iterations"] > before[-1]["iterations"]
    bounds = [record["objective"] for record in after]
    assert bounds == sorted(bounds, reverse=True)
    # A larger tolerance asks for nothing more.
    api.resume(run.url, tol=0.1, execution=HERE, quiet=True)


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_targets_within_epsilon_need_no_weights(
    parts: int, targets: Rows, train: Callable[..., api.Run]
) -> None:
    X, z = targets
    run = train((X, z), task="regression", epsilon=100.0, parts=parts)
    assert run.status()["converged"]
    assert model_of(run)["primal_objective"] == 0.0
    np.testing.assert_allclose(run.predict(X[:5], execution=HERE), z.mean(), rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_a_tolerance_below_rounding_ends(
    parts: int, classes: Rows, train: Callable[..., api.Run]
) -> None:
    X, y = classes
    with pytest.warns(DcsvmWarning, match="give a larger tol"):
        run = train((X[:60], y[:60]), tol=1e-200, parts=parts)
    assert not run.status()["converged"]
    assert "larger tol" in run.status()["message"]
    assert model_of(run)["violation"] < 1e-8


@pytest.mark.long
def test_rows_that_change_during_a_run_are_found(
    classes: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    train(classes, parts=2, tol=0.5)
    chunks = [path for path in (tmp_path / "data").rglob("c/*") if path.is_file()]
    key = max(chunks, key=lambda path: path.stat().st_size)
    content = bytearray(key.read_bytes())
    content[len(content) // 2] ^= 1
    key.write_bytes(bytes(content))
    # As another process, which has read nothing yet.
    run_data.cached_rows.cache_clear()
    problem._read_problem.cache_clear()
    # What the run has committed stays; it goes on once the rows are there again.
    with pytest.raises(DcsvmError, match=r"damaged|checksum|changed"):
        api.resume(tmp_path / "run", tol=1e-3, execution=HERE, quiet=True)
    content[len(content) // 2] ^= 1
    key.write_bytes(bytes(content))
    assert api.resume(tmp_path / "run", tol=1e-3, execution=HERE, quiet=True).status()["converged"]


@pytest.mark.long
def test_workers_change_nothing(
    classes: Rows, train: Callable[..., api.Run], two_workers: Execution
) -> None:
    how: dict[str, Any] = {"parts": 2, "loss": SQUARED, "tol": 0.1}
    here = train(classes, "here", **how)
    there = train(classes, "there", execution=two_workers, **how)
    X = classes[0].toarray()
    assert model_of(here)["objective"] == model_of(there)["objective"]
    assert np.array_equal(*(one.decision_function(X, execution=HERE) for one in (here, there)))


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"kernel": "rbf"}, "kernel must be linear here"),
        ({"best": False}, "line-search must be false where best is false"),
        ({"line_search": False, "share": 0.5}, "share must be 1 where line_search is false"),
        ({"share": 1.5}, "share must be from 0 to 1"),
        ({"unit": "C"}, "unit must be one of"),
        ({"method": "cpa", "line_search": True}, "no such parameter of cpa"),
        ({"task": "one-class"}, "one-class"),
        ({"svm_type": "nu"}, "not for nu-classification"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, demo_rows: Callable[..., Path], tmp_path: Path
) -> None:
    words = {"kernel": "linear", "method": "ocas", **words}
    with pytest.raises(InputError, match=said):
        api.train(demo_rows(ROWS), tmp_path / "run", execution=HERE, quiet=True, **words)
    assert not (tmp_path / "run").exists()
