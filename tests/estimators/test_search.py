"""Searches beside GridSearchCV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators import DCSVC, DCNuSVC, DCSVMSearchCV
from dcsvm_dask.estimators.search_results import Scores, ranks
from dcsvm_dask.estimators.search_warned import warn_choice
from tests.marks import half, soak

GRID = [
    {"C": [1, 30, 0.1], "gamma": [0.02, 0.2]},
    {"C": [1.0], "kernel": ["poly", "linear"], "gamma": [0.1]},
]


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return (X[:900] / 16).astype(np.float32), np.array(list("abcdefghij"))[y[:900]]


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), y


@pytest.mark.long
def test_many_classes_are_scored_as_by_grid_search(digits: Any) -> None:
    X, y = digits
    ours = DCSVMSearchCV(DCSVC(tol=1e-4), GRID, cv=3).fit(X, y)
    theirs = GridSearchCV(SVC(tol=1e-4), GRID, cv=3).fit(X, y)
    found, wanted = ours.cv_results_, theirs.cv_results_
    assert set(wanted) <= set(found)
    assert found["params"] == wanted["params"]
    for key in ("mean_test_score", "split0_test_score", "std_test_score"):
        np.testing.assert_allclose(found[key], wanted[key], atol=1e-9)
    np.testing.assert_array_equal(found["rank_test_score"], wanted["rank_test_score"])
    assert found["param_kernel"].tolist() == wanted["param_kernel"].tolist()
    assert not found["early"].any()
    assert found["solved"].all()
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)


@pytest.mark.one_quick
@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", "f1"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_any_scorer_and_sparse_rows(cancer: Any, scoring: str, store: Any) -> None:
    X, y = cancer
    grid = {"C": [0.5, 5.0], "gamma": [0.01, 0.1]}
    how: dict[str, Any] = {"scoring": scoring, "cv": KFold(3, shuffle=True, random_state=0)}
    ours = DCSVMSearchCV(DCSVC(tol=1e-5, class_weight="balanced"), grid, **how).fit(store(X), y)
    # The weights of classes are those of all rows.
    weights = dict(enumerate(len(y) / (2 * np.bincount(y))))
    theirs = GridSearchCV(SVC(tol=1e-5, class_weight=weights), grid, **how).fit(X, y)
    mean = theirs.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], mean, atol=2e-3)


def test_kernels_of_few_features_are_scored_as_a_whole_beside_others(shared_data: Any) -> None:
    file = shared_data("magic")
    X, y = file["X_train"][:4500].astype(np.float64), file["y_train"][:4500]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    few: dict[str, Any] = {"kernel": "poly", "degree": 2, "coef0": 1.0}
    grid: list[dict[str, Any]] = [
        {name: [value] for name, value in few.items()} | {"C": [1.0, 300.0]},
        {"gamma": [8.0]},
    ]
    how: dict[str, Any] = {"cv": 2, "block_rows": 1000, "exact": 0, "refit": False}
    found = DCSVMSearchCV(DCSVC(), grid, **how).fit(X, y).cv_results_
    assert found["early"].tolist() == [False, False, True]
    assert found["solved"].all()
    for place, C in enumerate((1.0, 300.0)):
        scores = cross_val_score(DCSVC(C=C, tol=1e-5, **few), X, y, cv=2)
        assert found["mean_test_score"][place] == pytest.approx(scores.mean(), abs=1e-3)


def test_blocks_rank_and_the_best_are_solved_as_a_whole(cancer: Any) -> None:
    X, y = cancer
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.003, 0.03, 3.0]}
    search = DCSVMSearchCV(DCSVC(), grid, cv=3, block_rows=150, exact=2).fit(X, y)
    found = search.cv_results_
    assert search.n_blocks_ > 2
    assert found["early"].sum() == 7
    assert not found["early"][search.best_index_]
    assert found["rank_test_score"][search.best_index_] == 1
    assert found["rank_test_score"][~found["early"]].max() <= 2
    assert found["rank_test_score"][found["early"]].min() == 3
    exact = np.flatnonzero(~found["early"])
    for place in exact:
        model = DCSVC(**found["params"][place])
        wanted = cross_val_score(model, X, y, cv=3)
        assert [found[f"split{i}_test_score"][place] for i in range(3)] == pytest.approx(wanted)
    # What is early comes near to what is exact, but where a machine knows its own rows only.
    whole = DCSVMSearchCV(DCSVC(), grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    best = np.argsort(-whole)[:3]
    np.testing.assert_allclose(found["mean_test_score"][best], whole[best], atol=0.08)
    none = DCSVMSearchCV(DCSVC(), grid, cv=3, block_rows=150, exact=0).fit(X, y)
    assert none.cv_results_["early"].all()
    assert none.best_score_ == none.cv_results_["mean_test_score"].max()


def test_a_solved_candidate_within_the_standard_error_is_chosen() -> None:
    scores = np.array([[0.90, 0.92], [0.95, 0.89], [0.80, 0.80]])  # the error of the second is .03
    none, solved = np.zeros(3, dtype=np.bool_), np.array([True, False, True])
    found = Scores(scores, scores, solved, none)
    candidates = [{"C": C} for C in (1.0, 9.0, 2.0)]
    assert (found.top, found.best) == (1, 0)
    with pytest.warns(ConvergenceWarning, match=r"'C': 9.0}, scores higher than the chosen one"):
        warn_choice(found, candidates, found.best)
    alone = Scores(scores, scores, np.array([False, False, True]), none)
    assert alone.best == 1
    with (
        pytest.warns(DcsvmWarning, match="best C is the largest that was tried; try larger"),
        pytest.warns(ConvergenceWarning, match="the chosen one is among them"),
    ):
        warn_choice(alone, candidates, alone.best)


def test_refit_takes_a_callable_as_of_grid_search(cancer: Any) -> None:
    X, y = cancer
    grid = {"C": [1.0, 2.0], "gamma": [0.02]}

    def least(found: dict[str, Any]) -> int:
        return int(found["mean_test_score"].argmin())

    ours = DCSVMSearchCV(DCSVC(), grid, cv=3, refit=least).fit(X, y)
    theirs = GridSearchCV(SVC(), grid, cv=3, refit=least).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_params_["C"] == ours.best_estimator_.C
    assert not hasattr(ours, "best_score_")
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    with pytest.raises(InputError, match="refit returned 2; let it return the number"):
        DCSVMSearchCV(DCSVC(), grid, cv=3, refit=lambda found: 2).fit(X, y)


def test_ranks() -> None:
    mean, early = np.array([0.7, 0.9, 0.8, 0.9, 0.7, 0.8]), np.array([0, 1, 0, 1, 0, 1]) > 0
    assert ranks(mean, early).tolist() == [2, 4, 1, 4, 2, 6]


def test_bad_corners_are_bounded_and_marked(cancer: Any) -> None:
    X, y = cancer
    grid = {"C": [0.01, 1e6], "gamma": [1e-3]}
    search = DCSVMSearchCV(DCSVC(max_iter=300), grid, cv=3, refit=False)
    with pytest.warns(
        ConvergenceWarning, match="1 of 2 candidates are not solved .*raise max_iter"
    ):
        search.fit(X, y)
    assert search.cv_results_["solved"].tolist() == [True, False]
    with pytest.raises(InputError, match="refit=True"):
        search.predict(X)


def test_rows_of_no_weight_do_not_train(cancer: Any) -> None:
    X, y = cancer
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    folds = [(np.arange(0, 400), np.arange(400, 569)), (np.arange(200, 569), np.arange(0, 200))]
    search = DCSVMSearchCV(DCSVC(tol=1e-5), {"C": [1.0], "gamma": [0.05]}, cv=folds)
    search.fit(X, y, sample_weight=weight)
    for number, (train, test) in enumerate(folds):
        svc = SVC(gamma=0.05, tol=1e-5).fit(X[train], y[train], weight[train])
        score = search.cv_results_[f"split{number}_test_score"][0]
        assert score == pytest.approx(svc.score(X[test], y[test]))
    assert 0 not in weight[search.best_estimator_.support_]


SHAPES: dict[str, dict[str, Any]] = {
    "ties": {"break_ties": True},
    "ovo": {"decision_function_shape": "ovo"},
    "ovr": {"decision_function_shape": "ovr"},
}


@pytest.mark.one_quick
@pytest.mark.parametrize(("words", "block_rows"), half(SHAPES, {"whole": 4096, "blocks": 200}))
def test_scores_are_those_of_the_fitted_estimator(
    words: dict[str, Any], block_rows: int, digits: Any
) -> None:
    X, y = digits[0][:600, 18:22], digits[1][:600]  # few features: votes tie
    model = DCSVC(tol=1e-5, **words)
    grid = {"C": [1.0, 4.0], "gamma": [0.5]}

    def spread(model: Any, rows: Any, labels: Any) -> float:
        return float(model.decision_function(rows).std())

    def right(model: Any, rows: Any, labels: Any) -> float:
        return float(np.mean(model.predict(rows) == labels))

    for scoring in (spread, right):
        how: dict[str, Any] = {"cv": 3, "scoring": scoring, "refit": False}
        search = DCSVMSearchCV(model, grid, block_rows=block_rows, exact=2, **how).fit(X, y)
        fitted = [
            cross_val_score(clone(model).set_params(**one), X, y, cv=3, scoring=scoring).mean()
            for one in search.cv_results_["params"]
        ]
        assert not search.cv_results_["early"].any()
        np.testing.assert_allclose(search.cv_results_["mean_test_score"], fitted, atol=1e-4)
    if words.get("break_ties"):
        first = cross_val_score(DCSVC(tol=1e-5, C=4.0, gamma=0.5), X, y, cv=3, scoring=right)
        assert abs(fitted[1] - first.mean()) > 1e-3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"param_grid": None}, "param_grid is missing"),
        ({"param_grid": {"tol": [1.0]}}, "param_grid has tol; possible are C, kernel"),
        ({"param_grid": {"C": [1, -1]}}, "C must be a positive number, got -1"),
        ({"param_grid": {"gamma": [0.0]}}, "gamma is 0"),
        ({"param_grid": {"C": [1]}, "estimator": 1}, "estimator is a int: give a DCSVC"),
        ({"param_grid": {"C": [1]}, "cv": []}, "cv is .*; give a number of folds"),
        ({"param_grid": {"C": [1]}, "cv": [1]}, "cv is .*; give a number of folds"),
        ({"param_grid": {"C": [1]}, "cv": [([0, 1], [569])]}, "row numbers, below 569"),
        ({"param_grid": {"C": [1]}, "scoring": ["accuracy"]}, "scoring is .*; give the name of"),
        ({"param_grid": {"C": [1]}, "scoring": ["f1"], "refit": "f1"}, "scoring is .*GridSearchCV"),
        ({"param_grid": {"C": [1]}, "scoring": "neg_log_loss"}, "neg_log_loss.*take GridSearchCV"),
        (
            {"estimator": DCNuSVC(), "param_grid": {"nu": [0.1]}, "scoring": "neg_brier_score"},
            "asks for more than predict and decision_function",
        ),
        (
            {"param_grid": {"C": [1]}, "scoring": lambda *_: {"one": 1.0, "two": 2.0}},
            "returned the metrics one, two: let it return one number",
        ),
        ({"param_grid": {"C": [1]}, "refit": None}, "refit is None; give True or False"),
        ({"param_grid": {"C": [1]}, "estimator": SVC()}, "estimator is a SVC: give a DCSVC"),
        (
            {"param_grid": {"dcsvc__C": [1]}, "estimator": make_pipeline(DCSVC())},
            "is a Pipeline: .* put the search as the last step of the pipeline, or use GridSear",
        ),
        ({"param_grid": {"C": [1]}, "block_rows": 1}, "block_rows is 1"),
        ({"param_grid": {"C": [1]}, "exact": -1}, "exact is -1"),
    ],
)
def test_what_cannot_be_searched_is_refused(words: dict[str, Any], said: str, cancer: Any) -> None:
    X, y = cancer
    with pytest.raises(InputError, match=said):
        DCSVMSearchCV(**words).fit(X, y)


def test_masks_are_splits_too(cancer: Any) -> None:
    X, y = cancer
    mask = np.arange(len(y)) % 3 > 0
    how: dict[str, Any] = {"param_grid": {"C": [1.0], "gamma": [0.05]}, "refit": False}
    found = DCSVMSearchCV(**how, cv=[(mask, ~mask)]).fit(X, y)
    wanted = DCSVMSearchCV(**how, cv=[(np.flatnonzero(mask), np.flatnonzero(~mask))]).fit(X, y)
    assert found.best_score_ == wanted.best_score_


def test_groups_are_held_out_together_as_by_grid_search(cancer: Any) -> None:
    X, y = cancer
    groups = np.arange(len(y)) // 60
    how: dict[str, Any] = {"param_grid": {"C": [1.0, 10.0]}, "cv": GroupKFold(4)}
    found = DCSVMSearchCV(**how).fit(X, y, groups=groups).cv_results_["mean_test_score"]
    wanted = GridSearchCV(SVC(), **how).fit(X, y, groups=groups).cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        DCSVMSearchCV(**how).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DCSVMSearchCV(**how).fit(X, y, groups=groups[1:])


def test_repeated_and_unordered_training_rows(cancer: Any) -> None:
    X, y = cancer
    rng = np.random.default_rng(0)
    splits = [
        (rng.choice(400, 400), np.arange(400, 569)),
        (rng.permutation(400), [*range(500, 569)]),
    ]
    grid = {"C": [0.5, 20.0], "gamma": [0.02]}
    ours = DCSVMSearchCV(DCSVC(tol=1e-5), grid, cv=splits).fit(X, y)
    theirs = GridSearchCV(SVC(tol=1e-5), grid, cv=splits).fit(X, y)
    mean = theirs.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], mean, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("store", "weight", "close"),
    [
        (np.asarray, "balanced", 0.02),
        (sparse.csr_array, None, 0.008),
        soak(np.asarray, None, 0.008),
        soak(sparse.csr_array, "balanced", 0.02),
    ],
)
def test_blocks_know_of_each_other_where_the_kernel_is_smooth(
    shared_data: Any, store: Any, weight: Any, close: float
) -> None:
    """Without rows that stand for other blocks these scores are .017 and .41 off."""
    file = shared_data("ijcnn1")
    X, y = file["X_train"].astype(np.float32)[:12_000], file["y_train"][:12_000]
    grid = {"C": [2.0, 64.0], "gamma": [2.0**-6]}
    cv = [(np.arange(8_000), np.arange(8_000, 12_000))]
    base = DCSVC(class_weight=weight)
    how: dict[str, Any] = {"cv": cv, "refit": False}
    ours = DCSVMSearchCV(base, grid, block_rows=1024, exact=0, **how).fit(store(X), y)
    whole = GridSearchCV(SVC(class_weight=weight), grid, **how).fit(X, y)
    assert ours.n_blocks_ > 4
    exact = whole.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], exact, atol=close)
