"""Columns of the tests of models on all held-out rows."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.tables.trials import columns_of


def test_tests_have_the_scores_of_their_tasks() -> None:
    about = {"level": 1, "mode": "early", "rows": 9}
    classes = {**about, "accuracy": 0.5, "balanced_accuracy": 0.4}
    targets = {**about, "r2": 0.5, "mae": 0.1}
    end = ("rows", "n_support", "ms_per_row")
    usual = ("level", "mode", "accuracy", "balanced_accuracy", *end)
    assert columns_of([classes]) == columns_of([]) == usual
    assert columns_of([targets]) == ("level", "mode", "r2", "mae", *end)
    assert columns_of([{**about, "auc": 0.5, "accuracy": 0.5}])[2:4] == ("auc", "accuracy")
