"""C-SVC as a dual problem, and what its door refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks import Classification, make_task, svc_dual
from dcsvm_dask.tasks.dual import UNBOUNDED


def test_signs_and_bounds_are_those_of_the_labels() -> None:
    dual = Classification().dual(np.array([1.0, -1.0, 0.0]), np.array([2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(dual.p, [-1.0, 1.0, 0.0])
    np.testing.assert_array_equal(dual.lower, [0.0, -3.0, 0.0])
    np.testing.assert_array_equal(dual.upper, [2.0, 0.0, 0.0])


def test_its_loss_is_the_hinge() -> None:
    rng = np.random.default_rng(0)
    y, f = np.where(rng.random(50) < 0.5, 1.0, -1.0), rng.standard_normal(50)
    dual = svc_dual(y, 3.0)
    np.testing.assert_allclose(dual.losses(f + dual.p), 3.0 * np.maximum(0.0, 1.0 - y * f))


def test_the_squared_loss_has_a_ridge_and_the_labels_signs() -> None:
    task = Classification(squared=True)
    y, C = np.array([1.0, -1.0, 0.0]), np.array([2.0, 4.0, 1.0])
    dual = task.dual(y, C)
    np.testing.assert_array_equal(dual.lower, [0.0, -UNBOUNDED, 0.0])
    np.testing.assert_array_equal(dual.upper, [UNBOUNDED, 0.0, 0.0])
    np.testing.assert_array_equal(dual.ridge, [0.25, 0.125, 0.5])
    f = np.array([0.5, 0.5, 3.0])
    np.testing.assert_allclose(dual.losses(f + dual.p), C * [0.25, 2.25, 0.0])
    assert task.product_range is None
    assert make_task("classification", task.to_json()) == task
    assert Classification().to_json() == {}
    assert (Classification().loss, task.loss) == ("hinge", "squared_hinge")


@pytest.mark.parametrize(
    ("y", "C", "why"),
    [
        ([2.0, -1.0], 1.0, "y holds a label other than -1 and"),
        ([np.nan, -1.0], 1.0, "y holds a value that is not finite"),
        ([1.0, -1.0], -1.0, "C holds a negative value"),
        ([1.0, -1.0], np.nan, "C holds a value that is not finite"),
        ([1.0, -1.0], np.ones(3), "C has the shape"),
    ],
)
def test_what_is_no_problem_of_two_classes_is_refused(y: Any, C: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        svc_dual(y, C)
