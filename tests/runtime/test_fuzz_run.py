"""Whatever the objects of a run hold: it answers as it did, or says which object is damaged."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.storage.location import seal
from tests.left import latest
from tests.marks import long
from tests.strategies import changes_below, check_copies, fuzz, inputs
from tests.summary import summary

HERE = api.Execution(workers=0)
ROWS = np.random.default_rng(0).random((3, 54)) * 100


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a complete run of one level over rows of the demo."""
    home = tmp_path_factory.mktemp("fuzz")
    source = str(resources.files("dcsvm_dask.demo") / "covtype.csv.xz")
    ingest(source, home / "d.zarr", label="lodgepole_pine", rows=(0, 160), scale="minmax")
    words = {"gamma": 2.0, "C": 4.0, "clusters": (3,), "n_samples_clustering": 50}
    api.train(home / "d.zarr", home / "run", execution=HERE, quiet=True, **words)
    return home / "run"


def answers(place: Path) -> Any:
    """Return what a run says: looked at, gone on with, predicted from, exported."""
    run = api.open_run(place)
    found = run.status()
    json.dumps(found, allow_nan=False)
    summary(found)
    run.history()
    early = run.decision_function(ROWS, mode="early", execution=HERE)
    api.resume(place, execution=HERE, quiet=True)
    run.export(place.with_name("model.txt"), overwrite=True)
    text = place.with_name("model.txt").read_text()
    return early, run.decision_function(ROWS, execution=HERE), run.predict(ROWS), text


@pytest.mark.one_quick
@inputs(12)
@pytest.mark.parametrize(
    "pattern",
    [
        *map(long, ("run.json", "plan.json", "preparation.json", "superseded/*.json")),
        *("state/*.json", "stages/*/*.json", "small", "zarr.json"),
    ],
)
def test_runs(count: int, pattern: str, whole: Path, tmp_path: Path) -> None:
    state = f"state/{latest(whole, 'state').name}"
    known = [
        (state, b'{"state": "complete", "start_seconds": Infinity}'),
        (state, json.dumps(seal({"state": 7})).encode()),
        ("run.json", b'{"format": ' + b"9" * 5000 + b"}"),
        ("stages/level-1/commit.json", b"{}"),
    ]
    check = check_copies(whole, tmp_path / "run", answers)
    fuzz(
        check,
        changes_below(whole, pattern),
        count,
        [one for one in known if PurePath(one[0]).match(pattern)],
    )
