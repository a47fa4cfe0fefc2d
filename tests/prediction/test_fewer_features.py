"""svmlight text with fewer features than the model, or more, as files of few rows have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.runtime.execution import Execution
from tests.command_line import invoke

HERE = Execution(workers=0)
DIGITS, LABELS = load_digits(n_class=2, return_X_y=True)
"""Images of zeros and ones, of 64 pixels."""
SAID = "names 61 features, the model was trained on 64; absent ones count as zero"


def dump(rows: Any, path: Path, base: int = 1) -> Path:
    dump_svmlight_file(rows, LABELS[: len(rows)], str(path), zero_based=base == 0)
    return path


def upper(n: int) -> Any:
    """Return the first rows without their last three pixels."""
    rows = DIGITS[:n].copy()
    rows[:, 61:] = 0.0
    rows[0, 60] = 3.0
    return rows


@pytest.fixture(scope="module", params=[1, 0], ids=["from 1", "from 0"])
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    rows = DIGITS.copy()
    rows[0, [0, 63]] = 1.0  # the first and the last index occur
    api.ingest(dump(rows, home / "all.svm", request.param), home / "d.zarr")
    api.train(home / "d.zarr", home / "run", execution=HERE, quiet=True, report=False)
    few = upper(50)
    few[1, 0] = 1.0
    dump(few, home / "few.svm", request.param)
    wider = np.column_stack([few, np.ones(50)])
    dump(wider, home / "wider.svm", request.param)
    return home


def test_files_of_fewer_features_have_a_note(home: Path) -> None:
    run = api.open_run(home / "run")
    words = (home / "run", home / "few.svm", "--workers", 0)
    for done in (
        invoke("predict", *words, "--out", home / "p.csv", "--overwrite"),
        invoke("evaluate", *words),
    ):
        assert done.exit_code == 0, done.output
        assert f"note: {home}/few.svm: {SAID}\n" in done.stderr
    assert invoke("evaluate", *words, "--quiet").stderr == ""
    assert run.evaluate(home / "few.svm", execution=HERE)["notes"] == [f"{home}/few.svm: {SAID}"]
    rows = upper(50)
    rows[1, 0] = 1.0
    with pytest.warns(DcsvmWarning, match=SAID) as caught:
        found = run.decision_function(str(home / "few.svm"), execution=HERE)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(found, run.decision_function(rows, execution=HERE))
    assert run.predict_file(home / "all.svm", home / "all.csv", execution=HERE)["notes"] == []
    assert run.evaluate(home / "all.svm", execution=HERE)["notes"] == []


def test_files_of_more_features_are_refused(home: Path) -> None:
    run = api.open_run(home / "run")
    with pytest.raises(InputError, match=r"index 6[45] occurs, but the 64 features are"):
        run.evaluate(home / "wider.svm", execution=HERE)


def test_targets_have_the_note_too(tmp_path: Path) -> None:
    how: dict[str, Any] = {"quiet": True, "report": False, "execution": HERE}
    api.ingest((DIGITS, LABELS), tmp_path / "d.zarr", task="regression")
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", task="regression", **how)
    few = dump(upper(30), tmp_path / "few.svm")
    assert run.evaluate(few, execution=HERE)["notes"] == [f"{few}: {SAID}"]
