"""Clones of estimators that have a client: a connection is shared, not copied."""

from __future__ import annotations

import pickle
from threading import Lock
from typing import Any

import pytest
from sklearn.base import clone

from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    CascadeSVC,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
)

KINDS = (DCSVC, DCSVR, DCQuantileSVR, DCNuSVC, DCNuSVR, DCOneClassSVM, CascadeSVC)


@pytest.mark.parametrize("kind", KINDS)
def test_a_clone_has_the_same_client(kind: Any) -> None:
    client = Lock()  # which cannot be copied, as clients cannot
    made = kind(gamma=3.0, client=client)
    made.n_features_in_ = 2
    found = clone(made)
    assert found is not made
    assert (found.client, made.client, found.gamma) == (client, client, 3.0)
    assert not hasattr(found, "n_features_in_")


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_has_no_client(kind: Any) -> None:
    made = kind(gamma=3.0, client=Lock())  # which cannot be pickled, as clients cannot
    found = pickle.loads(pickle.dumps(made))
    assert (found.client, found.gamma) == (None, 3.0)
    assert made.client is not None
