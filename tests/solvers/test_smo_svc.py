"""solve_smo with an equality against scikit-learn's SVC on real data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.marks import soak
from tests.svc import duality_gap, objective, solve_smo, violation_pair

REFERENCES = json.loads(
    (Path(__file__).resolve().parents[1] / "references" / "svc.json").read_text()
)
SMALL = ("heart_scale", "german_numer")
TOL = REFERENCES["tol"]
# Eleven references to make afresh; none takes more than a few seconds.
AFRESH = {
    ("heart_scale", 0, 0),
    ("heart_scale", 6, -6),
    ("heart_scale", 10, -6),
    ("german_numer", -6, 6),
    ("german_numer", 6, 0),
    ("german_numer", 10, -6),
    ("a9a", -6, -6),
    ("a9a", 0, 0),
    ("ijcnn1", 0, 0),
    ("ijcnn1", 6, 6),
    ("usps", 6, -6),
}

# Of twelve pairs five, each in two of four sets: each C and each gamma, and the greatest of both.
USUAL = {
    "a9a": ((-6, -6), (0, 6), (10, -6)),
    "ijcnn1": ((0, 6), (6, 0), (10, 6)),
    "usps": ((-6, -6), (6, 0)),
    "covtype": ((10, -6), (10, 6)),
}


def _parameters(keep: Callable[[dict[str, Any]], bool], always: bool = True) -> list[Any]:
    return [
        (pytest.param if always or _is_usual(entry) else soak)(
            entry, id=f"{entry['data']}-C{entry['log2_C']}-gamma{entry['log2_gamma']}"
        )
        for entry in REFERENCES["entries"]
        if keep(entry)
    ]


def _is_usual(entry: dict[str, Any]) -> bool:
    """Whether thousands of rows of this set have these parameters every time."""
    return (entry["log2_C"], entry["log2_gamma"]) in USUAL[entry["data"]]


def _agrees(entry: dict[str, Any], make_svc: ModuleType, X: Any, y: Any) -> None:
    C, gamma = 2.0 ** entry["log2_C"], 2.0 ** entry["log2_gamma"]
    exact = make_svc.rbf(X, X, gamma)
    # SVC's cache is float32, whose rounding shows where C is huge: there float64 decides.
    K = exact if C > 64.0 else exact.astype(np.float32)
    found = solve_smo(K, y, C, equality=True, tol=TOL)
    assert found.converged
    assert (found.alpha >= 0.0).all()
    assert (found.alpha <= C).all()
    assert abs(y @ found.alpha) <= 1e-12 * C * len(y)
    signed = np.zeros(len(y))
    support = np.flatnonzero(found.alpha)
    signed[support] = (y * found.alpha)[support]
    gradient = y * (exact @ signed) - 1.0
    value = objective(found.alpha, gradient)
    assert violation_pair(gradient, found.alpha, y, C) <= 1.001 * TOL or C <= 64.0
    if C <= 64.0:
        assert value == pytest.approx(entry["objective"], rel=1e-6)
    else:
        # A violation of v leaves a gap of at most v C n.
        finer = min(1e-7, 5e-7 * abs(value) / (C * len(y)))
        fine = solve_smo(K, y, C, equality=True, tol=finer, alpha=found.alpha)
        proof = duality_gap(fine.gradient, fine.alpha, C, y)
        assert 0.0 <= proof <= 1e-6 * abs(value)
        assert value == pytest.approx(fine.objective, rel=1e-6)
        assert entry["objective"] - value >= -1e-9 * abs(value)
    decision = (y * (gradient + 1.0) + found.bias)[entry["rows"]]
    close = 1e-3 if C <= 64.0 else 1e-2
    np.testing.assert_allclose(decision, entry["decision"], rtol=close, atol=close)
    assert found.bias == pytest.approx(-entry["rho"], rel=close, abs=close)


@pytest.mark.parametrize("entry", _parameters(lambda entry: entry["data"] in SMALL))
def test_same_answer_as_svc(
    entry: dict[str, Any], make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    _agrees(entry, make_svc, *problem(entry["data"]))


@pytest.mark.long
@pytest.mark.parametrize(
    "entry", _parameters(lambda entry: entry["data"] not in SMALL, always=False)
)
def test_same_answer_as_svc_on_thousands_of_rows(
    entry: dict[str, Any], make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    _agrees(entry, make_svc, *problem(entry["data"]))


@pytest.mark.long
@pytest.mark.parametrize(
    "entry",
    _parameters(lambda entry: (entry["data"], entry["log2_C"], entry["log2_gamma"]) in AFRESH),
)
def test_stored_references_are_what_svc_answers(
    entry: dict[str, Any], make_svc: ModuleType, problem: Callable[[str], Any]
) -> None:
    X, y = problem(entry["data"])
    fresh = make_svc.fit(X, y, 2.0 ** entry["log2_C"], 2.0 ** entry["log2_gamma"])
    assert fresh["objective"] == pytest.approx(entry["objective"], rel=1e-9)
    assert fresh["n_support"] == pytest.approx(entry["n_support"], abs=3)
    np.testing.assert_allclose(fresh["decision"], entry["decision"], rtol=1e-4, atol=1e-4)
