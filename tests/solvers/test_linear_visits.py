"""Orders of visits, shrinking, the squared loss and traces of dual coordinate descent."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import Trace, solve_linear, solve_linear_chunks, solve_linear_dual
from dcsvm_dask.tasks import Regression


@pytest.fixture(scope="module")
def text(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    found = shared_data("reuters_money_fx")
    parts = tuple(found[f"X_train_{key}"] for key in ("data", "indices", "indptr"))
    parts = (parts[0], *(part.astype(np.int32) for part in parts[1:]))
    X = sparse.csr_array(parts, shape=tuple(found["X_train_shape"])).astype(np.float32)
    order = np.random.default_rng(0).permutation(X.shape[0])  # they lie sorted by label
    return X[order], found["y_train"][order].astype(np.float64)


WAYS: list[dict[str, Any]] = [
    {"order": "fixed"},
    {"order": "drawn"},
    {"shrink": 0.3},
    {"shrink": np.inf},
    {"order": "fixed", "shrink": np.inf},
]


@pytest.mark.one_quick
@pytest.mark.parametrize("how", WAYS, ids=str)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
def test_every_way_leads_to_the_answer(
    text: tuple[Any, Any], how: dict[str, Any], loss: Any
) -> None:
    X, y = text[0][:2000], text[1][:2000]
    # What all rows share, as a constant, and chunks take a fixed order thousands of passes.
    is_fixed = how.get("order") == "fixed"
    words: Any = {"loss": loss, "tol": 1e-2 if is_fixed else 1e-3}
    usual = solve_linear(X, y, 1.0, **words)
    found = solve_linear(X, y, 1.0, **words, **how)
    all_found = [found]
    if not is_fixed:
        all_found.append(solve_linear_chunks((X[:700], X[700:]), y, 1.0, **words, **how))
    for one in all_found:
        assert one.converged
        assert one.objective == pytest.approx(usual.objective, rel=1e-4)
        assert one.gap < 1e-2 * abs(usual.objective)
    never_bounded = loss == "squared" and "order" not in how
    assert np.array_equal(found.alpha, usual.alpha) == never_bounded


@pytest.mark.long
@pytest.mark.parametrize("how", WAYS, ids=str)
def test_targets_too(text: tuple[Any, Any], how: dict[str, Any]) -> None:
    X, z = text[0][:1000], np.cos(np.arange(1000.0))
    dual = Regression(0.1).dual(z, np.ones(1000))
    usual = solve_linear_dual((X,), dual, tol=1e-5)
    found = solve_linear_dual((X,), dual, tol=1e-5, **how)
    assert found.converged
    assert found.objective == pytest.approx(usual.objective, rel=1e-7)


@pytest.mark.long
def test_the_squared_loss_is_ridge_regression_of_the_labels(text: tuple[Any, Any]) -> None:
    X, y = text
    C = np.where(np.arange(len(y)) % 3, 0.7, 0.0)
    found = solve_linear(X, y, C, loss="squared", tol=1e-8)
    # 0.5 w'w + C |y - Xw|^2 is 0.5 (|y - Xw|^2 / s + w'w) with s = 1 / (2 C).
    peer = Ridge(alpha=1.0, fit_intercept=False, tol=1e-12, solver="sparse_cg")
    peer.fit(X.astype(np.float64), y, sample_weight=2.0 * C)
    np.testing.assert_allclose(found.w, peer.coef_, atol=1e-6)
    assert (found.alpha[C == 0.0] == 0.0).all()
    assert (found.alpha < 0.0).any()
    np.testing.assert_allclose(found.w, X.T @ (y * found.alpha), atol=1e-9)
    again = solve_linear(X, y, C, loss="squared", tol=1e-6, alpha=found.alpha)
    assert again.n_iter == 1


@pytest.mark.long
def test_without_shrinking_every_pass_is_over_all_rows(text: tuple[Any, Any]) -> None:
    X, y = text[0][:500], text[1][:500]
    met = []
    solve_linear(X, y, 1.0, order="fixed", shrink=np.inf, max_iter=3, tol=1e-9, trace=Trace())
    for order in ("fixed", "shuffled"):
        one, two = (
            solve_linear(X, y, 1.0, order=order, shrink=np.inf, max_iter=3, tol=1e-9, seed=seed)
            for seed in (0, 1)
        )
        met.append(np.array_equal(one.alpha, two.alpha))
    assert met == [True, False]


@pytest.mark.long
@pytest.mark.parametrize("cuts", [(0, 2000), (0, 900, 2000)], ids=["whole", "chunks"])
def test_a_trace_has_each_pass(text: tuple[Any, Any], cuts: tuple[int, ...]) -> None:
    X, y = text[0][:2000], text[1][:2000]
    chunks = [X[a:b] for a, b in itertools.pairwise(cuts)]
    trace, seen = Trace(), []
    words: Any = {"constant": 1.0, "tol": 1e-6}
    found = solve_linear_chunks(
        chunks, y, 1.0, trace=trace, callback=lambda n, v: seen.append(n), **words
    )
    seconds, primal, dual, gap = trace.passes.T
    assert seen == list(range(1, found.n_iter + 1))
    assert len(seconds) == found.n_iter
    assert (np.diff(seconds) >= 0.0).all()
    np.testing.assert_allclose(dual, found.history[:, 0], rtol=1e-9)
    assert (np.diff(dual) <= 1e-12).all()
    assert (gap >= -1e-9).all()
    assert primal[-1] == pytest.approx(-found.objective, rel=1e-6)
    error = trace.relative_error(-found.objective)
    assert error[0] > 1e-2 > 1e-6 > error[-1] > -1e-9
    # It changes nothing.
    plain = solve_linear_chunks(chunks, y, 1.0, **words)
    np.testing.assert_array_equal(plain.alpha, found.alpha)


@pytest.mark.long
def test_what_is_impossible_is_refused(text: tuple[Any, Any]) -> None:
    X, y = text[0][:9], text[1][:9]
    for how, said in (
        ({"order": "random"}, "order is 'random': give shuffled, fixed, drawn"),
        ({"shrink": 0.0}, "shrink is 0.0: give a factor above 0"),
        ({"shrink": "off"}, "shrink is 'off'"),
        ({"loss": "log"}, "loss is 'log': give one of hinge, squared_hinge, squared"),
        ({"loss": "squared", "C": -1.0}, "C holds a negative value"),
    ):
        how = {"C": 1.0, **how}
        with pytest.raises(InputError, match=said):
            solve_linear(X, y, how.pop("C"), **how)  # type: ignore[arg-type]
