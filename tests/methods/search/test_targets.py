"""Searches for real targets: scores are those of scikit-learn's SVR on the same folds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVR

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.report import report
from dcsvm_dask.diagnostics.search import described, grid
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.execution import Execution

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = Execution(workers=0)
GRID = {"C": (0.5, 8.0), "gamma": (0.02, 0.2), "epsilon": (0.05, 0.3)}
N, HELD = 360, 200


class Rows:
    """Standardised rows of cpusmall with their targets, and the data set of the first ones."""

    def __init__(self, file: Any, folder: Path) -> None:
        order = np.random.default_rng(0).permutation(len(file["y_train"]))[: N + HELD]
        X, z = file["X_train"][order], file["y_train"][order]
        self.X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
        self.z = (z - z.mean()) / z.std() + 100.0  # far from zero, as raw targets are
        self.place = str(folder / "d.zarr")
        held = self.X[N:], self.z[N:]
        api.ingest((self.X[:N], self.z[:N]), self.place, test=held, task="regression")


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return Rows(shared_data("cpusmall"), tmp_path_factory.mktemp("targets"))


def search(rows: Rows, place: Path, **words: Any) -> api.Run:
    words = {"fit_intercept": True, "tol": 1e-5, "refit": False, "cv": 3, **words}
    if "validation" in words:
        del words["cv"]
    return api.search(rows.place, place, execution=HERE, quiet=True, **words)


def splits_of(run: api.Run) -> PredefinedSplit:
    return PredefinedSplit(run.folder.node("split", "commit").read("fold_of_row"))


def compare(run: api.Run, X: Any, z: Any, folds: Any, close: float) -> None:
    """Compare all exact scores with those of scikit-learn's SVR on the same folds."""
    scoring = {
        "r2": "r2",
        "mae": "neg_mean_absolute_error",
        "rmse": "neg_root_mean_squared_error",
    }
    peer = GridSearchCV(
        SVR(tol=1e-5), {key: list(values) for key, values in GRID.items()}, cv=folds,
        scoring=scoring, refit=False,
    )  # fmt: skip
    found = peer.fit(X.astype(np.float64), z).cv_results_
    number = {tuple(one[key] for key in GRID): place for place, one in enumerate(found["params"])}
    for row in run.results():
        place = number[tuple(row[key] for key in GRID)]
        assert row["solved"]
        assert row["exact_r2"] == row["r2"]
        for key, sign in (("r2", 1.0), ("mae", -1.0), ("rmse", -1.0)):
            wanted = sign * found[f"mean_test_{key}"][place]
            assert row[key] == pytest.approx(wanted, abs=close)
        each = [found[f"split{k}_test_r2"][place] for k in range(len(row["splits"]))]
        np.testing.assert_allclose(row["splits"], each, atol=close)
        assert row["r2_std"] == pytest.approx(np.std(each), abs=close)
    ours = max(run.results(), key=lambda row: row["r2"])
    assert (ours["rank"], ours["best"]) == (1, True)
    assert number[tuple(ours[key] for key in GRID)] == np.argmax(found["mean_test_r2"])


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [{}, {"block_rows": 128, "exact": "all"}], ids=["one-block", "blocks"]
)
def test_scores_are_those_of_svr(rows: Rows, tmp_path: Path, words: dict[str, Any]) -> None:
    run = search(rows, tmp_path / "s", **GRID, **words)
    compare(run, rows.X[:N], rows.z[:N], splits_of(run), 2e-4)
    fold = run.folder.node("split", "commit").read("fold_of_row")
    assert set(np.bincount(fold)) <= {N // 3, N // 3 + 1}


@pytest.mark.long
def test_rows_held_out_for_all_and_blocks_that_rank(rows: Rows, tmp_path: Path) -> None:
    words: dict[str, Any] = {"validation": f"{rows.place}/test", "block_rows": 128}
    run = search(rows, tmp_path / "s", **GRID, **words, exact="all")
    fold = np.repeat([-1, 0], [N, HELD])
    compare(run, rows.X, rows.z, PredefinedSplit(fold), 2e-4)
    ranked = search(rows, tmp_path / "r", **GRID, **words, exact=2)
    for one, other in zip(run.results(), ranked.results(), strict=True):
        assert other["early_r2"] == pytest.approx(one["exact_r2"], abs=0.15)
        assert other["share"] == 1.0
    assert sum(row["exact_r2"] is not None for row in ranked.results()) == 2


def test_the_best_is_trained_with_its_own_epsilon(rows: Rows, tmp_path: Path) -> None:
    run = search(rows, tmp_path / "s", C=2.0, gamma=0.05, epsilon=(0.02, 0.4), refit=True)
    best = next(row for row in run.results() if row["best"])
    assert run.best is not None
    settings = run.best.folder.header["settings"]
    epsilon = best["epsilon"]
    assert (settings["task"], settings["task_options"]["epsilon"]) == ("regression", epsilon)
    peer = SVR(C=2.0, gamma=0.05, epsilon=epsilon, tol=1e-5).fit(rows.X[:N], rows.z[:N])
    np.testing.assert_allclose(run.best.predict(rows.X[N:]), peer.predict(rows.X[N:]), atol=1e-3)
    assert described(best).startswith(f"C 2, gamma 0.05, epsilon {epsilon}: R^2 0.")
    assert "MAE" in described(best)
    assert grid(run.results()).splitlines()[0].split() == ["epsilon", "C", "2"]
    text, tables = report(run.folder)
    assert "Exact R^2" in text
    assert {"r2", "r2_std", "mae", "rmse", "epsilon"} <= set(tables["candidates"])


def test_a_lower_pinball_loss_is_better(rows: Rows, tmp_path: Path) -> None:
    words: dict[str, Any] = {"C": (0.01, 0.5, 8.0), "gamma": (0.05, 3.0), "exact": 2}
    run = search(rows, tmp_path / "s", task="quantile", quantile=0.9, block_rows=256, **words)
    found = run.results()
    exact = [row for row in found if row["exact_pinball"] is not None]
    early = sorted(row["early_pinball"] for row in found)
    assert sorted(row["early_pinball"] for row in exact) == early[:2]
    best = next(row for row in found if row["best"])
    assert best["rank"] == 1
    assert best["pinball"] == min(row["exact_pinball"] for row in exact)
    # The median's problem is that of SVR without a tube, for half of C.
    half = search(rows, tmp_path / "m", task="quantile", quantile=0.5, C=4.0, gamma=0.05)
    (row,) = half.results()
    scorer = make_scorer(mean_pinball_loss, alpha=0.5, greater_is_better=False)
    peer = GridSearchCV(SVR(epsilon=0.0, tol=1e-5, gamma=0.05), {"C": [2.0]}, cv=splits_of(half),
        scoring=scorer, refit=False)  # fmt: skip
    scores = peer.fit(rows.X[:N].astype(np.float64), rows.z[:N]).cv_results_["mean_test_score"]
    assert row["pinball"] == pytest.approx(-scores[0], abs=1e-4)
    assert 0.3 < row["coverage"] < 0.7


def test_squared_losses_begin_at_the_solution_before(rows: Rows, tmp_path: Path) -> None:
    words: dict[str, Any] = {"loss": "squared_epsilon_insensitive", "gamma": 0.05, "exact": "all"}
    words |= {"block_rows": 128, "cv": 2}  # the same blocks, thus the same folds
    both = search(rows, tmp_path / "b", C=(0.5, 8.0), **words)
    for row in both.results():
        alone = search(rows, tmp_path / f"{row['C']}", C=row["C"], **words)
        assert row["r2"] == pytest.approx(alone.results()[0]["r2"], abs=1e-3)


def test_a_kernel_that_is_impossible_is_worst(rows: Rows, tmp_path: Path) -> None:
    words: dict[str, Any] = {"kernel": "poly", "gamma": 1.0, "degree": (2, 300), "C": 1e-3}
    run = search(rows, tmp_path / "s", **words)
    good, lost = run.results()
    assert (good["best"], good["rank"]) == (True, 1)
    assert (lost["solved"], lost["r2"]) == (False, None)
    assert "!" in grid(run.results())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"task": "quantile", "quantile": (0.1, 0.9)}, "different quantiles do not compare"),
        ({"epsilon": (-0.1, 0.1)}, "epsilon must be numbers, 0 or more"),
        ({"task": "quantile", "epsilon": (0.1, 0.2)}, "epsilon: is a parameter of task regression"),
        ({"task": "one-class"}, "ingest the source with --task one-class"),
        ({"task": "classification"}, "its rows have targets"),
        ({"class_weight": "balanced"}, "class_weight: is for classes"),
        ({"multiclass": "ovr"}, "multiclass: is for classes"),
    ],
)
def test_what_targets_do_not_have_is_refused(
    rows: Rows, tmp_path: Path, words: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        search(rows, tmp_path / "s", C=1.0, gamma=0.1, **words)
    assert not (tmp_path / "s").exists()
