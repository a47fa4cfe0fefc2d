"""A model as scikit-learn's SVC; this pins the private attributes that are set."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models.svc import Trained, to_svc
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.run import RunFolder
from tests.exported import svm_of

HERE = Execution(workers=0)
KERNELS = [
    Kernel("rbf", gamma=2.0),
    Kernel("poly", gamma=0.5, degree=3, coef0=1.0),
    Kernel("linear"),
    Kernel("sigmoid", gamma=0.1, coef0=-0.5),
]


@pytest.mark.one_quick
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_svc_is_the_one_that_the_model_came_from(
    kept_run: Any, kernel: Kernel, is_sparse: bool
) -> None:
    made = kept_run(kernel, is_sparse=is_sparse, labels=("no", "yes"))
    svc = svm_of(made.run)
    test = made.data.open_part("test").rows.read(0, 100)
    np.testing.assert_allclose(
        svc.decision_function(test), made.svc.decision_function(test), rtol=1e-9, atol=1e-9
    )
    assert (svc.predict(test) == made.svc.predict(test)).all()
    assert svc.score(test, made.y_test) == made.svc.score(test, made.y_test)
    for name in ("support_", "n_support_", "intercept_", "classes_", "shape_fit_"):
        assert np.array_equal(getattr(svc, name), getattr(made.svc, name)), name
    for name in ("dual_coef_", "support_vectors_"):
        ours, theirs = getattr(svc, name), getattr(made.svc, name)
        assert abs(ours - theirs).max() <= 1e-12, name
    if kernel.name == "linear":
        assert abs(svc.coef_ - made.svc.coef_).max() <= 1e-9


def test_it_has_every_attribute_of_a_fitted_svc(kept_run: Any) -> None:
    made = kept_run()
    svc = svm_of(made.run)
    assert set(vars(made.svc)) - set(vars(svc)) == set()
    assert clone(svc).get_params() == svc.get_params()
    again = pickle.loads(pickle.dumps(svc))
    test = made.data.open_part("test").rows.read(0, 100)
    assert (again.predict(test) == svc.predict(test)).all()


def test_rows_are_scaled_as_the_run_does(kept_run: Any) -> None:
    made = kept_run(scale="standard")
    values = made.run.to_sklearn().decision_function(made.X_test)
    ours = made.run.decision_function(made.X_test, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours, atol=1e-7)


def test_svc_has_no_laplacian_kernel() -> None:
    one = np.ones((1, 1), np.float32)
    trained = Trained(Kernel("laplacian"), one, np.zeros(1, int), np.ones(1), 0.0, 1)
    with pytest.raises(InputError, match="laplacian"):
        to_svc(trained, 1.0, 1e-3, [-1, 1])


def test_a_run_that_lost_what_alpha_belongs_to_is_refused(make_run: Any) -> None:
    made = make_run()
    folder: RunFolder = made.run.folder
    (folder.stage("arrange") / "commit.json").delete()
    with pytest.raises(InputError, match="is missing; train again"):
        made.run.to_sklearn()
