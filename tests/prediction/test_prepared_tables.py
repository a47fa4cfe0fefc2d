"""A run of a table whose columns were made numbers: what comes later is prepared alike."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.readers.preparing.cell_counts import cells_line
from dcsvm_dask.readers.preparing.encoders import NUMBER, BadCellError, Encoder
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.command_line import invoke
from tests.stored import split_of

HERE = Execution(workers=0)
HOW: dict[str, Any] = {"execution": HERE, "quiet": True, "report": False}
N = 600
CHOICES: dict[str, Any] = {
    "drop": ["id"],
    "one_hot": ["job"],
    "ordinal": {"school": ["low", "mid", "high"]},
    "missing": "indicator",
    "dates": "parts",
}


def table(n: int = N) -> pd.DataFrame:
    """Return customers whose answer follows from all kinds of columns."""
    rng = np.random.default_rng(0)
    age, job = rng.integers(18, 80, n), rng.choice(["office", "shop, own", "none"], n)
    school, loan = rng.choice(["low", "mid", "high"], n), rng.choice(["yes", "no"], n)
    money = np.where(rng.random(n) < 0.1, np.nan, rng.normal(1000, 500, n).round(2))
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    answer = (age > 45) ^ (school == "high") | (job == "none") & (loan == "no")
    return pd.DataFrame(
        {
            "id": np.arange(n) * 7,
            "age": age,
            "job": job,
            "school": school,
            "money": money,
            "loan": loan,
            "day": day.strftime("%Y-%m-%d"),
            "answer": np.where(answer, "bought", "left"),
        }
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    table().to_csv(home / "t.csv", index=False)
    api.ingest(home / "t.csv", home / "d.zarr", test_fraction=0.25, **CHOICES)
    api.train(home / "d.zarr", home / "run", C=10.0, holdout=home / "d.zarr/test", **HOW)
    return home


@pytest.fixture(scope="module")
def run(home: Path) -> api.Run:
    return api.open_run(home / "run")


def test_held_out_rows_are_decided_as_the_file_they_came_from(home: Path, run: api.Run) -> None:
    _, held_out = split_of(table()["answer"].to_numpy(), N // 4)
    wanted = run.predict(home / "d.zarr/test", execution=HERE)
    found = run.predict(home / "t.csv", execution=HERE)[held_out]
    np.testing.assert_array_equal(found, wanted)
    assert np.mean(found == table()["answer"][held_out]) > 0.85


@pytest.mark.parametrize(
    "form", ["frame", "polars", "parquet", "jsonl", "typed", "columns in another order", "no label"]
)
def test_any_form_of_the_table_is_decided_alike(form: str, run: api.Run, tmp_path: Path) -> None:
    frame = table(100)
    wanted = run.decision_function(frame, execution=HERE)
    source: Any = {
        "frame": frame,
        "polars": pl.from_pandas(frame),
        "columns in another order": frame[frame.columns[::-1]],
        "no label": frame.drop(columns=["answer", "id"]),
    }.get(form, tmp_path / f"t.{form}")
    if form == "parquet":
        frame.to_parquet(source)
    elif form == "jsonl":
        frame.to_json(source, orient="records", lines=True)
    elif form == "typed":
        source = frame.assign(job=frame["job"].astype("category"), day=pd.to_datetime(frame["day"]))
    found = run.decision_function(source, execution=HERE)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_to_sklearn_is_a_pipeline_that_takes_the_table(run: api.Run) -> None:
    frame = table(100)
    pipeline = run.to_sklearn()
    assert [name for name, _ in pipeline.steps] == ["prepare", "svm"]
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.predict(frame), run.predict(frame, execution=HERE))


def test_other_marks_before_decimals_are_refused_with_the_reason(
    run: api.Run, tmp_path: Path
) -> None:
    table(20).to_csv(tmp_path / "new.csv", index=False, sep=";", decimal=",")
    with pytest.raises(InputError, match=r"'money'.*has decimal points: write those of"):
        run.predict(tmp_path / "new.csv", execution=HERE)


def test_an_empty_cell_that_nothing_fills_says_what_would() -> None:
    with pytest.raises(BadCellError, match=r"is empty; .*--missing median \(or indicator\), which"):
        Encoder("age", NUMBER).encode(pa.array(["31", None]), ".")


def test_new_categories_are_0_and_new_words_are_refused(run: api.Run) -> None:
    frame = table(20)
    rows = run.scale(frame.assign(job="astronaut"))
    names = DataSet.open(run.folder.header["data"]["url"]).feature_names
    jobs = [k for k, name in enumerate(names or ()) if name.startswith("job=")]
    np.testing.assert_array_equal(rows[0, jobs], run.scale(table())[:, jobs].min(axis=0))
    with pytest.raises(InputError, match=r"row 0 .*'school'\) is not low, mid, high: 'elite'"):
        run.predict(frame.assign(school="elite"), execution=HERE)
    with pytest.raises(InputError, match=r"'age'\) is not a number: 'old'"):
        run.predict(frame.assign(age="old"), execution=HERE)


def test_a_column_that_lacks_is_named(run: api.Run) -> None:
    with pytest.raises(InputError, match="'school'"):
        run.predict(table(5).drop(columns="school"), execution=HERE)


def test_exports_say_what_they_need(home: Path, run: api.Run, tmp_path: Path) -> None:
    done = invoke("export", home / "run", "--format", "libsvm", tmp_path / "m.model")
    assert done.exit_code == 0, done.output
    assert "1 age, 2 job=none, 3 job=office, 4 job=shop, own, 5 school" in done.output


def columns_for_onnx(frame: pd.DataFrame, session: Any) -> dict[str, Any]:
    """Return a table as the inputs of a graph; dates as their parts."""
    day = pd.to_datetime(frame["day"])
    days = day.dt
    parts = {"year": days.year, "month": days.month, "day": days.day, "weekday": days.day_of_week}
    dates = {f"day {name}": one for name, one in parts.items()}
    found = {}
    for one in session.get_inputs():
        column = dates.get(one.name, frame.get(one.name))
        assert column is not None
        if one.type == "tensor(string)":
            found[one.name] = column.fillna("").astype(str).to_numpy(object)[:, None]
        else:
            assert one.type == "tensor(double)"
            found[one.name] = column.to_numpy(np.float64)[:, None]
    return found


@pytest.mark.parametrize("missing", ["median", "indicator", "drop"])
@pytest.mark.parametrize("scale", ["auto", "none"])
def test_an_onnx_graph_takes_the_columns_of_the_table(
    missing: str, scale: str, tmp_path: Path
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    frame = table().assign(answer=lambda one: one["answer"] + one["loan"])  # four classes
    for row, column in enumerate(["age", "job", "school", "loan", "day"]):
        frame[column] = frame[column].astype(object)
        frame.loc[row, column] = None
    choices = {**CHOICES, "missing": missing, "label": "answer", "scale": scale}
    api.ingest(frame, tmp_path / "d.zarr", **choices)
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", C=10.0, **HOW)
    done = run.export(tmp_path / "m.onnx", format="onnx")
    assert any("columns of the table" in note for note in done["notes"])
    assert any("words without blanks around them" in note for note in done["notes"])
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    blank, other = (
        session.run(["decision"], columns_for_onnx(frame[5:].assign(job=word), session))[0]
        for word in (" office", "astronaut")
    )
    np.testing.assert_array_equal(blank, other)
    rows = frame.assign(job=frame["job"].replace("office", "astronaut"))  # a word never met
    label, decision = session.run(["label", "decision"], columns_for_onnx(rows, session))
    whole = rows.notna().all(axis=1).to_numpy()
    if missing == "drop":
        lack = rows.drop(columns=["id"]).isna().any(axis=1).to_numpy()
        assert np.isnan(decision[lack]).all()
        rows, label, decision = rows[~lack], label[~lack], decision[~lack]
    else:
        assert not whole.all()
    with pytest.warns(DcsvmWarning, match=r"cells have a category .* do not have \(job"):
        np.testing.assert_array_equal(label, run.predict(rows, execution=HERE))
    with pytest.warns(DcsvmWarning, match=r"cells have a category .* do not have \(job"):
        wanted = run.decision_function(rows, execution=HERE)
    np.testing.assert_allclose(decision, wanted, atol=1e-4)


@pytest.mark.parametrize("dtype", [str, float, int])
def test_an_onnx_graph_finds_categories_that_are_numbers(dtype: Any, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    frame = table()[["age", "answer"]].assign(job=table()["age"] % 3 + 1)
    api.ingest(frame.astype({"job": int}), tmp_path / "d.zarr", one_hot=["job"], label="answer")
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", C=10.0, **HOW)
    done = run.export(tmp_path / "m.onnx", format="onnx")
    assert any("categories that are numbers as 1 or 1.0" in note for note in done["notes"])
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    rows = frame.astype({"job": int}).astype({"job": dtype})
    assert rows["job"].astype(str).nunique() == 3
    inputs = columns_for_onnx(rows.assign(day="2024-01-05"), session)
    (decision,) = session.run(["decision"], inputs)
    wanted = run.decision_function(rows, execution=HERE)
    np.testing.assert_allclose(decision, wanted, atol=1e-4)
    other = run.decision_function(frame.assign(job=2), execution=HERE)
    assert np.abs(wanted - other).max() > 0.1  # the job counts


@pytest.mark.parametrize("scale", ["auto", "none"])
def test_an_onnx_graph_fills_in_medians(scale: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    frame = table()[["age", "money", "answer"]].assign(money=lambda one: one["money"] / 1000)
    frame["age"] = frame["age"] / 10
    frame.loc[3, "age"] = np.nan  # a second column with holes
    api.ingest(frame, tmp_path / "d.zarr", missing="median", label="answer", scale=scale)
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", C=10.0, **HOW)
    done = run.export(tmp_path / "m.onnx", format="onnx")
    assert "the graph fills in medians where a value is NaN" in done["notes"]
    rows = frame[["age", "money"]].to_numpy(np.float32)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    _, decision = session.run(["label", "decision"], {"rows": rows})
    wanted = run.decision_function(frame, execution=HERE)
    np.testing.assert_allclose(decision.reshape(-1), wanted, atol=1e-4)


def test_the_command_and_the_pipeline_file_make_the_same_data_set(
    home: Path, tmp_path: Path
) -> None:
    done = invoke(
        "ingest", home / "t.csv", "--out", tmp_path / "c.zarr", "--drop", "id", "--one-hot", "job",
        "--ordinal", "school:low<mid<high", "--missing", "indicator", "--dates", "parts",
        "--test-fraction", 0.25,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "column job: 3 categories" in done.output
    assert "column school: low<mid<high" in done.output
    file = tmp_path / "p.toml"
    file.write_text(
        f"[data]\nsource = {json.dumps(str(home / 't.csv'))}\ndrop = ['id']\none_hot = ['job']\n"
        "missing = 'indicator'\ndates = 'parts'\ntest_fraction = 0.25\n"
        "ordinal = {school = ['low', 'mid', 'high']}\n[method]\nname = 'dcsvm'\nC = 10.0\n"
        f"[output]\nrun = {json.dumps(str(tmp_path / 'run'))}\n"
        f"data = {json.dumps(str(tmp_path / 'p.zarr'))}\n"
    )
    api.run_pipeline(file, **HOW)
    prints = {
        DataSet.open(place).fingerprint
        for place in (home / "d.zarr", tmp_path / "c.zarr", tmp_path / "p.zarr")
    }
    assert len(prints) == 1
    file.write_text(file.read_text().replace("'indicator'", "'median'"))
    with pytest.raises(InputError, match="was made with another value of missing"):
        api.run_pipeline(file, **HOW)
    described = json.loads(invoke("info", tmp_path / "c.zarr", "--json").stdout)
    assert described["columns"]["encoders"][1]["words"] == ["none", "office", "shop, own"]


def test_a_test_file_is_prepared_as_the_training_file(home: Path, tmp_path: Path) -> None:
    table()[:80].sample(frac=1, axis=1, random_state=0).to_csv(tmp_path / "test.csv", index=False)
    words = {**CHOICES, "missing": "drop"}
    data = api.ingest(home / "t.csv", tmp_path / "d.zarr", test=tmp_path / "test.csv", **words)
    test, kept = data.open_part("test"), table()["money"][:80].notna().sum()
    assert test.n_rows == kept
    assert data.feature_names == test.feature_names
    np.testing.assert_array_equal(
        test.rows.read(0, test.n_rows), data.rows.read(0, data.n_rows)[:kept]
    )


def test_a_run_predicts_without_its_data_set(home: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(home / "run", tmp_path / "run")
    frame = table(50)
    alone = api.open_run(tmp_path / "run")
    assert (tmp_path / "run" / "preparation.json").exists()
    np.testing.assert_array_equal(
        alone.predict(frame, execution=HERE), api.open_run(home / "run").predict(frame)
    )


def test_a_damaged_preparation_is_refused(home: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(home / "d.zarr", tmp_path / "d.zarr")
    from dcsvm_dask.storage.location import Location, seal

    place = Location.of(str(tmp_path / "d.zarr")) / "dataset.json"
    about = place.read_json(sealed=True)
    about.pop("seal", None)
    about["columns"]["encoders"][0]["kind"] = "magic"
    place.write_json(seal(about))
    with pytest.raises(InputError, match="damaged"):
        DataSet.open(tmp_path / "d.zarr")


def test_cells_that_were_filled_in_or_are_unknown_are_counted(
    home: Path, run: api.Run, tmp_path: Path
) -> None:
    frame = table(50)
    frame.loc[:6, "job"] = "pilot"
    frame.loc[10, "job"] = ""
    frame.loc[20:40, "money"] = np.nan
    frame.to_csv(tmp_path / "new.csv", index=False)
    counts = {
        "filled": {"money": int(frame["money"].isna().sum()), "job": 1},
        "unknown": {"job": 7},
    }
    found = run.predict_file(tmp_path / "new.csv", tmp_path / "p.csv", execution=HERE)
    assert found["cells"] == counts
    frame["job"] = frame["job"].replace("", None)
    found = run.predict_file(frame, tmp_path / "q.csv", execution=HERE)
    assert found["cells"] == counts
    words = ("predict", home / "run", tmp_path / "new.csv", "--workers", 0, "--out")
    done = invoke(*words, tmp_path / "r.csv")
    n = counts["filled"]["money"]
    assert (
        f"note: {n + 1} empty cells were filled in (money {n}, job 1); 7 cells have a category "
        "that the training rows do not have (job 7)\n"
    ) in done.stderr
    assert invoke(*words, tmp_path / "s.csv", "--quiet").stderr == ""
    found = run.predict_file(home / "d.zarr/test", tmp_path / "t.csv", execution=HERE)
    assert found["cells"] == {"filled": {}, "unknown": {}}


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "frame"])
def test_kept_columns_stand_in_front(form: str, home: Path, tmp_path: Path) -> None:
    frame = table(50)
    frame["name"] = [f'row "{k}", {k % 3}\nof many' if k % 2 else "" for k in range(50)]
    data: Any = tmp_path / f"new.{form}"
    if form == "csv":
        frame.to_csv(data, index=False)
    elif form == "parquet":
        frame.to_parquet(data)
    elif form == "jsonl":
        frame.to_json(data, orient="records", lines=True)
    out = tmp_path / "p.csv"
    if form == "frame":
        api.open_run(home / "run").predict_file(frame, out, keep=["id", "name"], execution=HERE)
    else:
        done = invoke("predict", home / "run", data, "--out", out, "--keep", "id,name")
        assert done.exit_code == 0, done.output
    found = pd.read_csv(out, keep_default_na=False)
    assert list(found) == ["id", "name", "label", "decision"]
    np.testing.assert_array_equal(found[["id", "name"]], frame[["id", "name"]])
    np.testing.assert_array_equal(found["label"], api.open_run(home / "run").predict(frame))


def test_columns_that_cannot_be_kept(home: Path, run: api.Run, tmp_path: Path) -> None:
    frame, out = table(50), tmp_path / "p.csv"
    for data, keep, place, said in (
        (frame, ["nr"], out, "X: no column 'nr' to keep; there are: id, age"),
        (frame, ["id"], tmp_path / "p.parquet", "keep: is for predictions in CSV, not in .parquet"),
        (frame.assign(label=1), ["label"], out, "predictions have a column 'label', too"),
        (home / "d.zarr", ["id"], out, "keep: a data set has features alone"),
        (np.eye(3), ["id"], out, "keep is for files and data frames"),
    ):
        with pytest.raises(InputError, match=said):
            run.predict_file(data, place, keep=keep, execution=HERE)
        assert not place.exists()


@pytest.mark.parametrize(("columns", "more"), [(9, "1 more column"), (10, "2 more columns")])
def test_of_many_columns_the_eight_with_most_cells_are_named(columns: int, more: str) -> None:
    filled = {f"c{k}": k for k in range(1, columns + 1)}
    named = ", ".join(f"c{k} {k}" for k in range(columns, columns - 8, -1))
    said = cells_line({"filled": filled, "unknown": {}})
    assert said == f"{sum(filled.values())} empty cells were filled in ({named} and {more})"


def test_up_to_eight_columns_are_all_named() -> None:
    said = cells_line({"filled": dict.fromkeys("abcdefgh", 1), "unknown": {}})
    assert said == "8 empty cells were filled in (a 1, b 1, c 1, d 1, e 1, f 1, g 1, h 1)"
    assert cells_line({"filled": {}, "unknown": {}}) is None
    one = cells_line({"filled": {"a": 1}, "unknown": {"b": 1}})
    assert one is not None
    assert one.startswith("1 empty cell was filled in (a 1); 1 cell has a category")
