"""Scores from sums of parts are those of all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    mean_absolute_error,
    mean_pinball_loss,
    r2_score,
    root_mean_squared_error,
)

from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks import Classification, OneClass, Quantile, Regression, Tally, tally_of


def scores(tally: Tally, predicted: Any, truth: Any, counts: Any) -> dict[str, float]:
    """Return the scores of rows that come in three parts."""
    parts = np.array_split(np.arange(len(truth)), 3)
    sums = sum(np.array(tally.of(predicted[p], truth[p], counts[p])) for p in parts)
    found = dict(zip(tally.sums, np.asarray(sums)[:, None], strict=True))
    return {name: float(one[0]) for name, one in tally.scores(found, counts.sum()).items()}


def test_scores_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    z = 1e6 + rng.standard_normal(100)
    f, w = z + 0.3 * rng.standard_normal(100), rng.random(100)
    found = scores(tally_of(Regression(), {"mean": 1e6}), f, z, w)
    assert found["r2"] == pytest.approx(r2_score(z, f, sample_weight=w), abs=1e-9)
    assert found["mae"] == pytest.approx(mean_absolute_error(z, f, sample_weight=w))
    assert found["rmse"] == pytest.approx(root_mean_squared_error(z, f, sample_weight=w))
    found = scores(tally_of(Quantile(quantile=0.3)), f, z, w)
    assert found["pinball"] == pytest.approx(mean_pinball_loss(z, f, sample_weight=w, alpha=0.3))
    assert found["coverage"] == pytest.approx(w[z < f].sum() / w.sum())
    codes = rng.integers(0, 3, 100)
    found = scores(tally_of(Classification()), codes, np.zeros(100), w)
    assert found == {"accuracy": pytest.approx(w[codes == 0].sum() / w.sum())}


def test_equal_targets_and_models_that_do_not_exist() -> None:
    tally = tally_of(Regression(), {"mean": 1e6})
    same = np.full(9, 1e6 + 1e-3)
    assert scores(tally, same + 1.0, same, np.ones(9))["r2"] == 0.0
    lost = dict(zip(tally.sums, np.array(tally.failed)[:, None], strict=True))
    assert tally.scores(lost, np.ones(1))["r2"] == -np.inf
    with pytest.raises(InputError, match="one-class"):
        tally_of(OneClass())
