"""Rows to predict: arrays and data sets, scaled as the training rows, in bounded batches."""

from __future__ import annotations

import io
import pickle
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.models import Scores
from dcsvm_dask.prediction import batches
from dcsvm_dask.readers.scaling import Scaling
from dcsvm_dask.runtime.calls import CALLS_PER_WORKER, results
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.pool import open_pool
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.preparation import Preparation
from dcsvm_dask.storage.run import RunFolder

HERE = Execution(workers=0)
THREADS = Execution()


@pytest.mark.parametrize("scale", ["none", "minmax", "standard", "unit"])
def test_arrays_are_scaled_as_the_data_set_was(kept_run: Any, scale: str) -> None:
    made = kept_run(scale=scale)
    by_part = made.run.decision_function(made.data.open_part("test").url, execution=HERE)
    by_array = made.run.decision_function(made.X_test, execution=HERE)
    assert by_array.tolist() == by_part.tolist()
    scaled = made.data.open_part("test").rows.read(0, 100)
    assert np.array_equal(made.run.scale(made.X_test), scaled)


def test_rows_in_dask_are_predicted_chunk_by_chunk(kept_run: Any) -> None:
    run = kept_run().run
    X = kept_run().X_test
    rows = da.from_array(X, chunks=(30, X.shape[1]))
    found = rows.map_blocks(run.predict, dtype=run.predict(X).dtype, drop_axis=1)
    assert found.numblocks == (4,)
    np.testing.assert_array_equal(found.compute(scheduler="threads"), run.predict(X))
    again = pickle.loads(pickle.dumps(run.predict))  # as workers get it
    np.testing.assert_array_equal(again(rows), run.predict(X))
    frame = pd.DataFrame(X, columns=[str(k) for k in range(X.shape[1])])
    parts = dd.from_pandas(frame, npartitions=3)
    values = parts.map_partitions(run.decision_function, meta=np.zeros(0))
    np.testing.assert_array_equal(
        values.compute(scheduler="threads"), run.decision_function(X, execution=HERE)
    )


def test_a_run_predicts_and_exports_after_its_data_set_is_gone(make_run: Any) -> None:
    made = make_run(repeats=True)
    before = made.run.decision_function(made.X_test, execution=HERE)
    shutil.rmtree(made.data.place.url)
    assert made.run.decision_function(made.X_test, execution=HERE).tolist() == before.tolist()
    pipeline = made.run.to_sklearn()
    np.testing.assert_allclose(pipeline.decision_function(made.X_test), before, atol=1e-3)


def test_batches_threads_and_workers_do_not_change_decisions(
    kept_run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = kept_run()
    expected = made.run.decision_function(made.X_test, precision="float64", execution=HERE)
    monkeypatch.setattr(batches, "SENT_BYTES", 7 * 4 * 4)
    for mode, close in (("exact", expected), ("early", None), ("naive", None)):
        one = made.run.decision_function(
            made.X_test, mode=mode, precision="float64", execution=HERE
        )
        many = made.run.decision_function(
            made.X_test, mode=mode, precision="float64", execution=THREADS
        )
        assert np.array_equal(one, many)
        if close is not None:
            np.testing.assert_allclose(one, close, atol=1e-9)


def test_stored_batches_cover_every_row_once_in_whole_chunks(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LEAST_ROWS", 1000)
    monkeypatch.setattr(batches, "BATCHES", 16)
    rng = np.random.default_rng(0)
    n = 30_000
    X, y = rng.random((n, 4), np.float32), rng.choice([-1, 1], n)
    data = ingest((X, y), tmp_path / "d.zarr", chunk_rows=700)
    prepared = Preparation.of(data)
    cut = list(batches.StoredRows(data, prepared, labelled=True).batches())
    spans = [batch.arguments[1:3] for batch in cut]
    assert spans[0][0] == 0
    assert spans[-1][1] == n
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert all(start % 700 == 0 for start, _ in spans)
    assert 15 <= len(spans) <= 25
    codes = np.concatenate([batch.y for batch in cut])
    assert np.array_equal(codes, (y == 1).astype(int))


def test_calls_are_drawn_only_as_results_are_taken() -> None:
    drawn = []

    def calls() -> Any:
        for i in range(100):
            drawn.append(i)
            yield ((abs, (-i,)), i)

    with open_pool(Execution(workers=0), None, "test") as pool:
        most = 0
        for k, (value, belongs) in enumerate(results(pool, calls())):
            assert value == belongs == k
            most = max(most, len(drawn) - k)
    assert most <= CALLS_PER_WORKER + 1


def test_an_error_in_a_batch_ends_the_prediction(kept_run: Any) -> None:
    made = kept_run()
    bad = made.X_test.copy()
    bad[17, 2] = np.nan
    with pytest.raises(InputError, match="row 17, column 2"):
        made.run.decision_function(bad, execution=HERE)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_that_scaling_takes_out_of_float32_are_refused(form: Any) -> None:
    scaling = Scaling("standard", None, np.full(2, 1e30))
    prepared = Preparation([-1, 1], None, 2, form is not np.asarray, scaling, 9)
    X = np.ones((5, 2))
    X[3, 1] = 1e10
    rows = batches.open_batches(form(X), prepared, labelled=False)
    with pytest.raises(InputError, match=r"X after scaling: row 3, column 1 .* too large"):
        list(rows.batches())
    with pytest.raises(InputError, match="row 10, column 1"):
        batches.prepare_rows(X, prepared, "X", 7)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones((3, 5)), "has 5 features, the model was trained on 4"),
        (np.ones(4), r"1 axis; give .*: of one row X\.reshape\(1, -1\)"),
        (np.array([["a"] * 4]), r"must be real numbers, .*; where all are numbers, give X\.astype"),
        (sparse.csr_array(np.ones((3, 2))), "has 2 features"),
    ],
)
def test_rows_that_do_not_fit_are_refused(kept_run: Any, rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kept_run().run.predict(rows, execution=HERE)


def test_data_sets_of_other_features_or_scaling_are_refused(kept_run: Any, tmp_path: Any) -> None:
    made = kept_run()
    other = ingest((made.X_test[:, :3], made.y_test), tmp_path / "a.zarr")
    with pytest.raises(InputError, match="has 3 features, the model was trained on 4"):
        made.run.predict(other.url, execution=HERE)
    for scale in ("none", "minmax", "standard"):
        other = ingest((made.X_test, made.y_test), tmp_path / f"{scale}.zarr", scale=scale)
        with pytest.raises(InputError, match=r"scaled differently .* give the raw file"):
            made.run.predict(other.url, execution=HERE)
    with pytest.raises(InputError, match="nothing"):
        made.run.predict(tmp_path / "nothing.zarr", execution=HERE)


def test_evaluate_counts_like_sklearn(kept_run: Any) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    made = kept_run(labels=("no", "yes"))
    predicted = made.run.predict(made.X_test, execution=HERE)
    for data in ((made.X_test, made.y_test), made.data.open_part("test").url):
        found = made.run.evaluate(data, execution=HERE)
        assert found["accuracy"] == metrics.accuracy_score(made.y_test, predicted)
        assert found["balanced_accuracy"] == pytest.approx(
            metrics.balanced_accuracy_score(made.y_test, predicted)
        )
        decision = made.run.decision_function(made.X_test, execution=HERE)
        yes = np.asarray(made.y_test) == "yes"
        assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(yes, decision))
        assert found["f1"] == pytest.approx(
            metrics.f1_score(made.y_test, predicted, pos_label="yes")
        )
        assert found["confusion"] == {
            "labels": ["no", "yes"],
            "matrix": metrics.confusion_matrix(made.y_test, predicted).tolist(),
        }
        assert (found["n_rows"], found["mode"], found["level"]) == (100, "exact", 0)
        assert found["n_support"] == len(made.svc.support_)
        assert found["ms_per_row"] > 0


def test_labels_that_training_did_not_have_are_refused(kept_run: Any, tmp_path: Any) -> None:
    made = kept_run()
    y = made.y_test.copy()
    y[5] = 3
    with pytest.raises(InputError, match=r"row 5 .* label 3 does not occur"):
        made.run.evaluate((made.X_test, y), execution=HERE)
    with pytest.raises(InputError, match="no labels to compare"):
        made.run.evaluate(made.X_test, execution=HERE)


def test_joined_classes_are_joined_again(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 2)), rng.integers(0, 4, 60)
    y[:4] = range(4)
    data = ingest((X, y), tmp_path / "d.zarr", positive=[1, 3])
    prepared = Preparation.of(data)
    assert prepared.classes == [-1, 1]
    assert prepared.y(np.array([0, 1, 2, 3, 9]), "x", 0).tolist() == [0, 1, 0, 1, 0]
    assert prepared.codes_of_classes(data).tolist() == [0, 1]
    single = ingest((X, y), tmp_path / "e.zarr")
    assert prepared.codes_of_classes(single).tolist() == [0, 1, 0, 1]


def test_a_preparation_is_kept_to_the_last_bit(kept_run: Any, tmp_path: Any) -> None:
    made = kept_run(scale="standard")
    prepared = Preparation.read(made.run.folder)
    assert prepared.scales_like(made.data)
    place = Location.of(tmp_path)
    prepared.write(RunFolder(place, made.run.folder.header))
    text = (place / "preparation.json").read_bytes()
    assert text == (made.run.folder.place / "preparation.json").read_bytes()


def test_scores_of_a_part_with_one_class() -> None:
    scores = Scores(["a", "b"])
    scores.update(np.array([1, 1, 1, 1]), np.array([1, 1, 1, 0]))
    found = scores.result()
    assert found["accuracy"] == found["balanced_accuracy"] == 0.75
    assert Scores(["a", "b"]).result()["accuracy"] == 0.0


def test_predictions_do_not_replace_what_they_are_made_from(kept_run: Any, tmp_path: Path) -> None:
    made = kept_run()
    with pytest.raises(InputError, match="lies inside the run"):
        made.run.predict_file(
            made.data.url, f"{made.run.folder.place}/stages/x.csv", execution=HERE
        )
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, made.X_test[:5], delimiter=",")
    with pytest.raises(InputError, match="the input of the prediction"):
        made.run.predict_file(rows, rows, execution=HERE, overwrite=True)


def test_runs_and_predictions_may_live_in_an_object_store(make_run: Any) -> None:
    made = make_run(place="memory://prediction-test", n=100)
    out = "memory://prediction-test-out/p.npy"
    found = made.run.predict_file(made.data.open_part("test").url, out, execution=HERE)
    assert (found["out"], found["n_rows"]) == (out, 100)
    rows = np.load(io.BytesIO(Location(out).read_bytes()))
    assert np.array_equal(rows["decision"], made.run.decision_function(made.X_test, execution=HERE))
    with pytest.raises(InputError, match="only this process sees"):
        made.run.predict_file(made.data.url, out, execution=Execution(workers=1), overwrite=True)
