"""Records of solved SVMs, against sums in dense float64 on real rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dcsvm_dask.methods.solved import EACH, SUMS, SolvedBlocks, SolvedRecord, summed
from dcsvm_dask.solvers import bias, solve_smo
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.node import Record
from dcsvm_dask.tasks.classification import svc_dual
from tests.stored import problem_of

ROWS, C, GAMMA = 300, 4.0, 8.0


@pytest.fixture(scope="module")
def dense(data: DataSet) -> tuple[np.ndarray, np.ndarray]:
    X, y = problem_of(data)
    return np.exp(-GAMMA * cdist(X, X, "sqeuclidean")), y


@pytest.mark.parametrize("tol", [1e-1, 1e-6])
def test_a_record_of_an_svm_with_a_bias(dense: tuple[np.ndarray, np.ndarray], tol: float) -> None:
    K, y = dense
    dual = svc_dual(y, C)
    found = solve_smo(K, dual, equality=True, tol=tol)
    b = bias(found.gradient, found.beta, dual)
    record = SolvedRecord.of(dual, found, bias=b, equality=True, kernel_values=7)
    f, beta = K @ found.beta, found.beta
    objective = 0.5 * beta @ f - y @ beta
    assert record.objective == pytest.approx(objective, rel=1e-9)
    # The primal objective falls towards the best bias; the gap is that at the best one.
    primal = min(
        0.5 * beta @ f + C * np.maximum(0.0, 1.0 - y * (f + c)).sum()
        for c in np.concatenate([[b], y - f])
    )
    assert record.own_gap == pytest.approx(primal + objective, rel=1e-6, abs=1e-9)
    up = -(f - y)[np.where(y > 0, beta < C, beta < 0)]
    low = -(f - y)[np.where(y > 0, beta > 0, beta > -C)]
    assert record.violation == pytest.approx(up.max() - low.min(), abs=1e-9)
    assert record.converged == (record.violation <= tol)
    assert record.support == np.count_nonzero(beta)
    assert record.bounded == np.count_nonzero(np.abs(beta) == C)
    assert (record.rows, record.blocks, record.bias, record.kernel_values) == (ROWS, 1, b, 7)


def test_the_term_of_a_given_bias_is_left_out_of_the_objective(
    dense: tuple[np.ndarray, np.ndarray],
) -> None:
    K, y = dense
    dual = svc_dual(y, C).with_bias(0.3)
    found = solve_smo(K, dual, tol=1e-8)
    record = SolvedRecord.of(dual, found, bias=0.3, offset=0.3)
    f, beta = K @ found.beta, found.beta
    objective = 0.5 * beta @ f - y @ beta
    assert record.objective == pytest.approx(objective, rel=1e-9)
    primal = 0.5 * beta @ f + C * np.maximum(0.0, 1.0 - y * (f + 0.3)).sum()
    # At the solution for this bias, the gap of its own problem vanishes.
    assert record.own_gap == pytest.approx(primal + objective + 0.3 * beta.sum(), abs=1e-4)
    assert 0 <= record.own_gap < 1e-4


def test_blocks_are_recorded_one_by_one_and_summed(
    dense: tuple[np.ndarray, np.ndarray],
) -> None:
    K, y = dense
    solved = SolvedBlocks([3, 1])

    def solve(block: int) -> tuple[np.ndarray, Record]:
        rows = slice(100 * block - 100, 100 * block)
        dual = svc_dual(y[rows], C)
        found = solve_smo(K[rows, rows], dual, tol=10.0 ** -(2 * block))
        return found.beta, SolvedRecord.of(dual, found, bias=0.0).to_json()

    betas = [solved.add(block, partial(solve, block)) for block in solved.blocks]
    record = solved.to_json()
    assert record["members"] == [3, 1]
    assert record["blocks"] == 2
    assert record["rows"] == 200
    assert record["support"] == sum(map(np.count_nonzero, betas))
    assert record["violation"] == max(record["each"]["violation"])
    assert record["converged"]
    for key in EACH:
        assert len(record["each"][key]) == 2
    for key in set(EACH) & set(SUMS):
        assert record[key] == sum(record["each"][key])


def test_sums_of_no_blocks_are_zero() -> None:
    record = summed([], "balance")
    assert record.pop("converged") is True
    assert set(record) == {*SUMS, "balance", "violation"}
    assert not any(record.values())
