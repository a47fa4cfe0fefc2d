"""The choice of working sets: that of the report, from shares as from all variables together."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dcsvm_dask.solvers.optimality import violation
from dcsvm_dask.solvers.parallel import Candidates, WorkingSet, choose, merged
from dcsvm_dask.solvers.parallel.candidates import candidates_of
from dcsvm_dask.solvers.parallel.choice import violation_of
from dcsvm_dask.solvers.parallel.working_set import BOUNDED, FREE, ZERO
from dcsvm_dask.tasks import Dual, svc_dual
from tests.solvers.parallel import reference

SETTINGS = settings(max_examples=150, deadline=None)
C = 2.0


def found_of(gradient: Any, beta: Any, dual: Dual, most: int, shares: int) -> Candidates:
    """Return the candidates of all variables, by shares."""
    n = len(dual)
    borders = [n * part // shares for part in range(shares + 1)]
    parts = [slice(*pair) for pair in pairwise(borders)]
    return merged(
        [
            candidates_of(gradient[mine], beta[mine], dual[mine], start=mine.start, most=most)
            for mine in parts
        ],
        most,
    )


def set_of(ages: dict[int, int], alpha: NDArray[np.float64], entering: int) -> WorkingSet:
    """Return a working set after its step."""
    index = np.array(sorted(ages), np.int64)
    mine = alpha[index]
    place = np.where(mine == 0.0, ZERO, np.where(mine == C, BOUNDED, FREE)).astype(np.int8)
    age = np.array([ages[i] for i in index.tolist()], np.int64)
    return replace(WorkingSet.empty(entering), index=index, age=age, place=place, steps=1)


def points(rng: np.random.Generator, n: int) -> Any:
    """Return labels, variables at and between their bounds, and gradients."""
    y = np.where(rng.random(n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
    alpha = np.where(rng.random(n) < 0.4, rng.uniform(0.0, C, n), C * rng.integers(0, 2, n))
    return y, alpha, rng.standard_normal(n) + rng.choice([0.0, 1.0, -1.0])


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    q=st.integers(2, 40),
    half=st.integers(1, 20),
    shares=st.integers(1, 5),
)
@SETTINGS
def test_the_set_is_that_of_the_report(seed: int, n: int, q: int, half: int, shares: int) -> None:
    rng = np.random.default_rng(seed)
    y, alpha, gradient = points(rng, n)
    entering = min(2 * half, q - q % 2)
    last = rng.permutation(n)[: rng.integers(1, q + 1)].tolist()
    ages = {i: int(rng.integers(1, 5)) for i in last}
    found = found_of(y * gradient, y * alpha, svc_dual(y, np.full(n, C)), entering, shares)
    before = set_of(ages, alpha, entering)
    after = choose(before, found, size=q, equality=True, tol=1e-12)
    expected = reference.violation_of(gradient, alpha, y, C)
    assert after.violation == pytest.approx(expected, abs=1e-15)
    assert after.is_done == (expected <= 1e-12)
    if after.is_done:
        return
    wanted, n_next = reference.next_set(gradient, alpha, y, C, ages, q, entering)
    assert dict(zip(after.index.tolist(), after.age.tolist(), strict=True)) == wanted
    assert after.entering == n_next


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), shares=st.integers(1, 5))
@SETTINGS
def test_the_first_set_is_that_of_the_report(seed: int, n: int, shares: int) -> None:
    rng = np.random.default_rng(seed)
    y, _, _ = points(rng, n)
    zero, entering = np.zeros(n), 8
    found = found_of(-y, zero, svc_dual(y, np.full(n, C)), entering, shares)
    after = choose(WorkingSet.empty(entering), found, size=16, equality=True, tol=1e-12)
    wanted = reference.pairs_of(-np.ones(n), zero, y, C, entering)
    assert after.index.tolist() == ([] if after.is_done else sorted(wanted))
    assert after.is_done == (len(set(y)) < 2)
    assert after.entering == entering  # nothing was there before, which would be few to enter


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    entering=st.integers(1, 20),
    shares=st.integers(1, 5),
)
@SETTINGS
def test_without_a_sum_the_worst_variables_enter(
    seed: int, n: int, entering: int, shares: int
) -> None:
    rng = np.random.default_rng(seed)
    y, alpha, gradient = points(rng, n)
    worst = np.where(
        alpha == 0.0,
        np.maximum(0.0, -gradient),
        np.where(alpha == C, np.maximum(0.0, gradient), np.abs(gradient)),
    )
    found = found_of(y * gradient, y * alpha, svc_dual(y, np.full(n, C)), entering, shares)
    after = choose(WorkingSet.empty(entering), found, size=20, equality=False, tol=0.0)
    assert after.violation == worst.max()
    order = [i for i in np.lexsort((np.arange(n), -worst)) if worst[i] > 0.0]
    assert after.index.tolist() == sorted(order[:entering])


KINDS = ["svc", "kinks", "ridge", "nu_svc", "nu_svr", "nu_svr_with_slack"]


def problem_of(kind: str, rng: np.random.Generator, n: int) -> tuple[Dual, Any]:
    """Return a problem and a point, with variables at zero, at bounds and between."""
    upper, lower = rng.uniform(0.1, 2.0, n), -rng.uniform(0.1, 2.0, n)
    if kind in ("svc", "nu_svc", "ridge"):
        positive = rng.random(n) < 0.5
        upper, lower = np.where(positive, upper, 0.0), np.where(positive, 0.0, lower)
    at = rng.integers(0, 4, n)
    beta = np.choose(at, [np.zeros(n), lower, upper, rng.uniform(lower, upper)])
    epsilon = rng.uniform(0.0, 0.5, n) if kind == "kinks" else None
    ridge = rng.uniform(0.1, 1.0, n) if kind == "ridge" else None
    dual = Dual(rng.standard_normal(n), lower, upper, epsilon, ridge=ridge)
    if kind.startswith("nu"):
        dual = replace(dual, spare=0.25 if kind == "nu_svr_with_slack" else 0.0)
    return dual, beta


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    most=st.integers(1, 9),
    shares=st.integers(1, 4),
)
@SETTINGS
def test_the_violation_is_that_of_all_variables(
    kind: str, seed: int, n: int, most: int, shares: int
) -> None:
    rng = np.random.default_rng(seed)
    dual, beta = problem_of(kind, rng, n)
    gradient = rng.standard_normal(n)
    found = found_of(gradient, beta, dual, most, shares)
    for equality in (True, False) if dual.spare is None else (True,):
        now, (bias, multiplier) = violation_of(
            found, equality=equality, fixed_signs=dual.spare is None or dual.has_fixed_signs
        )
        expected = violation(gradient, beta, dual, equality=equality)
        if kind == "nu_svr":  # its multiplier is the middle here, there the mean of free variables
            assert abs(now - expected) <= 0.5 * max(now, expected) + 1e-15
        else:
            assert now == expected
        assert np.isfinite(bias)
        assert np.isfinite(multiplier)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), shares=st.integers(2, 6))
@settings(max_examples=80, deadline=None)
def test_shares_lead_to_the_set_of_all_variables(kind: str, seed: int, n: int, shares: int) -> None:
    rng = np.random.default_rng(seed)
    dual, beta = problem_of(kind, rng, n)
    # Some slopes are equal.
    gradient = np.round(2.0 * rng.standard_normal(n)) / 2.0
    entering = int(rng.integers(2, 20))
    words = {"size": 24, "tol": 0.0, "fixed_signs": dual.spare is None or dual.has_fixed_signs}
    sets = [
        choose(
            WorkingSet.empty(entering),
            found_of(gradient, beta, dual, entering, parts),
            equality=equality,
            **words,
        )
        for equality in ((True, False) if dual.spare is None else (True,))
        for parts in (1, shares)
    ]
    for one, other in zip(sets[::2], sets[1::2], strict=True):
        assert one.index.tolist() == other.index.tolist()
        assert (one.violation, one.is_done) == (other.violation, other.is_done)


def test_fewer_enter_as_fewer_do() -> None:
    rng, n, q = np.random.default_rng(0), 400, 200
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    dual, beta = svc_dual(y, np.full(n, C)), np.zeros(n)
    before = WorkingSet.empty(100)
    seen = []
    for few in (100, 100, 40, 40, 6, 80):
        gradient = np.full(n, 0.0)
        worst = rng.permutation(n)[:few]
        gradient[worst] = -y[worst]
        found = found_of(gradient, beta, dual, before.entering, 1)
        after = choose(before, found, size=q, equality=True, tol=1e-9)
        place = np.full(len(after.index), ZERO, np.int8)
        before = replace(after, place=place, steps=before.steps + 1)
        seen.append(before.entering)
        assert len(before.index) <= q
        assert before.index.tolist() == sorted(set(before.index.tolist()))
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] >= 18  # the largest even number below q / 10


def test_what_is_done_stays_done() -> None:
    y = np.array([1.0, -1.0])
    found = found_of(-y, np.zeros(2), svc_dual(y, np.ones(2)), 2, 1)
    done = replace(WorkingSet.empty(2), is_done=True)
    assert choose(done, found, size=2, equality=True, tol=1e-3).is_done
