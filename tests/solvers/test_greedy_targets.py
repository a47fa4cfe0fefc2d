"""Greedy basis selection with the squared epsilon-insensitive loss, against SMO and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.preprocessing import StandardScaler

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import solve_greedy, solve_smo
from dcsvm_dask.tasks import Quantile, Regression, SquaredTube, squared_loss
from tests.rounding import never_rises

GAMMA = 0.1


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    """Return 300 standardised rows of cpusmall and their targets."""
    found = shared_data("cpusmall")
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[:300]
    X, z = found["X_train"][index], found["y_train"][index].astype(np.float64)
    return StandardScaler().fit_transform(X).astype(np.float32), (z - z.mean()) / z.std()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_with_every_row_in_the_basis_it_is_the_exact_svr(
    rows: tuple[Any, Any], epsilon: float, intercept: bool
) -> None:
    X, z = rows
    n, C = len(z), np.random.default_rng(0).uniform(0.5, 2.0, len(z))
    kernel = Kernel("rbf", GAMMA)
    loss = squared_loss(Regression(epsilon, squared=True, centre=0.5))
    found = solve_greedy(
        kernel, X, z + 0.5, 2.0 * C, most=n, loss=loss, basis=np.arange(n), intercept=intercept
    )
    K = kernel_matrix(kernel, X, dtype=np.float64)
    exact = solve_smo(K, Regression(epsilon, True).dual(z, C), equality=intercept, tol=1e-8)
    assert found.objective == pytest.approx(-exact.objective, rel=1e-5)
    f = K[:, found.basis] @ found.beta + found.bias
    np.testing.assert_allclose(f, K @ exact.beta + exact.bias, atol=1e-3)


def test_the_weights_of_a_basis_are_the_best(rows: tuple[Any, Any]) -> None:
    X, z = rows
    kernel, C, epsilon = Kernel("rbf", GAMMA), 4.0, 0.1
    loss = SquaredTube(epsilon)
    found = solve_greedy(kernel, X, z, C, most=25, loss=loss, tol=0.0, chunk_rows=110)
    assert len(found.basis) == 25
    assert never_rises(found.objectives)
    K = kernel_matrix(kernel, X, X[found.basis], dtype=np.float64)
    G = K[found.basis]

    def primal(beta: Any) -> tuple[float, Any]:
        far = z - K @ beta
        left = np.maximum(np.abs(far) - epsilon, 0.0)
        slope = G @ beta - C * K.T @ (np.sign(far) * left)
        return 0.5 * float(beta @ G @ beta + C * left @ left), slope

    start, how = np.zeros(25), {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10**5, "maxfun": 10**5}
    best = minimize(primal, start, jac=True, method="L-BFGS-B", options=how)
    assert found.objective == pytest.approx(best.fun, rel=1e-6)
    assert primal(found.beta)[0] == pytest.approx(best.fun, rel=1e-6)
    blind = [np.random.default_rng(seed).permutation(300)[:25] for seed in range(3)]
    others = [solve_greedy(kernel, X, z, C, most=25, loss=loss, basis=one) for one in blind]
    assert found.objective < min(one.objective for one in others)


def test_other_losses_are_refused() -> None:
    with pytest.raises(
        InputError, match="squared losses only here, got regression with the loss e"
    ):
        squared_loss(Regression())
    with pytest.raises(InputError, match="squared losses only here, got quantile"):
        squared_loss(Quantile())
    X, z = np.eye(3, dtype=np.float32), np.ones(3)
    for targets, C, said in ((z, -1.0, "negative"), (z * np.nan, 1.0, "not finite")):
        with pytest.raises(InputError, match=said):
            solve_greedy(Kernel("rbf", 1.0), X, targets, C, most=2, loss=SquaredTube(0.1))
