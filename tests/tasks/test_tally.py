"""Scores from sums of parts are those of all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    mean_absolute_error,
    mean_pinball_loss,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks import (
    BalancedHits,
    Classification,
    OneClass,
    Quantile,
    Quantiles,
    Regression,
    Tally,
    tally_of,
)


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


def test_scores_of_rare_classes_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y, w = rng.choice(4, 300, p=[0.7, 0.2, 0.1, 0.0]), rng.random(300)
    predicted = np.where(rng.random(300) < 0.6, y, 0)
    found = scores(BalancedHits(np.bincount(y, w, 4)), predicted, y, w)
    assert found["accuracy"] == pytest.approx(accuracy_score(y, predicted, sample_weight=w))
    wanted = balanced_accuracy_score(y, predicted, sample_weight=w)
    assert found["balanced_accuracy"] == pytest.approx(wanted)
    two, f = (y > 0).astype(int), np.round(rng.standard_normal(300) + y, 1)
    tally = tally_of(Classification(), scoring="auc")
    found = dict(zip(tally.sums, np.array(tally.of(f, two, w))[:, None], strict=True))
    both = tally.scores(found, np.array([w.sum()]))
    assert both["auc"][0] == pytest.approx(roc_auc_score(two, f, sample_weight=w))
    assert both["accuracy"][0] == pytest.approx(accuracy_score(two, f > 0, sample_weight=w))


# Hanley's and McNeil's error is for exponential decision values; these are normal ones.
@pytest.mark.parametrize(
    ("scoring", "close"), [("accuracy", 0.1), ("balanced-accuracy", 0.1), ("auc", 0.25)]
)
def test_standard_errors_are_the_spread_over_samples(scoring: str, close: float) -> None:
    rng, found, n = np.random.default_rng(0), [], 400
    for _ in range(1500):
        y = (rng.random(n) < 0.15).astype(int)
        f = rng.standard_normal(n) + 1.5 * y - 0.8
        tally = tally_of(Classification(), scoring=scoring)
        if scoring == "balanced-accuracy":
            tally = BalancedHits(np.bincount(y).astype(float))
        sums = tally.of(f if tally.takes_values else (f > 0).astype(int), y, np.ones(n))
        of_sample = dict(zip(tally.sums, np.array(sums)[:, None], strict=True))
        rows = np.full(1, float(n))
        found.append([tally.scores(of_sample, rows)[tally.main], tally.errors(of_sample, rows)])
    score, error = np.array(found)[:, :, 0].T
    assert error.mean() == pytest.approx(score.std(), rel=close)


def test_equal_targets_and_models_that_do_not_exist() -> None:
    tally = tally_of(Regression(), {"mean": 1e6})
    same = np.full(9, 1e6 + 1e-3)
    assert scores(tally, same + 1.0, same, np.ones(9))["r2"] == 0.0
    lost = dict(zip(tally.sums, np.array(tally.failed)[:, None], strict=True))
    assert tally.scores(lost, np.ones(1))["r2"] == -np.inf
    with pytest.raises(InputError, match="quantile"):
        tally_of(Quantiles(quantile=(0.1, 0.9)))


def test_the_auc_is_that_of_scikit_learn_and_of_rows_given_apart() -> None:
    rng = np.random.default_rng(0)
    f, z, w = np.round(rng.standard_normal(300), 1), rng.choice([-1.0, 1.0], 300), rng.random(300)
    tally = tally_of(OneClass())
    found = dict(zip(tally.sums, np.array(tally.of(f, z, w))[:, None], strict=True))
    auc = tally.scores(found, np.array([w.sum()]))["auc"][0]
    assert auc == pytest.approx(roc_auc_score(z, f, sample_weight=w))
    # Equal rows are one variable, whatever their labels.
    values, place, often = np.unique(f, return_inverse=True, return_counts=True)
    together = tally.of(values, np.bincount(place, z) / often, often.astype(np.float64))
    assert together == pytest.approx(tally.of(f, z, np.ones(300)))
    parts = scores(tally, f, z, w)
    each = [roc_auc_score(z[p], f[p], sample_weight=w[p]) for p in np.array_split(range(300), 3)]
    assert min(each) < parts["auc"] < max(each)
    assert parts["outliers"] == pytest.approx(w[f <= 0.0].sum() / w.sum())
