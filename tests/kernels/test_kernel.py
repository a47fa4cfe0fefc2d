"""The kernel's parameters, its traits and its diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_diagonal


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"name": "gaussian"}, "gaussian"),
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"gamma": float("inf")}, "gamma"),
        ({"gamma": "scale"}, "gamma"),
        ({"gamma": True}, "gamma"),
        ({"degree": 0}, "degree"),
        ({"degree": 2.5}, "degree"),
        ({"coef0": float("inf")}, "coef0"),
    ],
)
def test_a_parameter_out_of_range_is_named(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        Kernel(**parameters)


def test_traits() -> None:
    shift_invariant = {
        n for n in ("rbf", "poly", "linear", "sigmoid", "laplacian") if Kernel(n).is_shift_invariant
    }
    assert shift_invariant == {"rbf", "laplacian"}
    assert not Kernel("sigmoid").is_psd
    assert not Kernel("poly", coef0=-1.0).is_psd
    assert all(Kernel(n).is_psd for n in ("rbf", "poly", "linear", "laplacian"))


@pytest.mark.one_quick
def test_diagonal_is_that_of_the_matrix(kernel: Kernel, rows: Any, exact: Any) -> None:
    X = rows[:300]
    expected = np.diag(exact(kernel, X, X))
    np.testing.assert_allclose(kernel_diagonal(kernel, X), expected, rtol=1e-12, atol=1e-14)
