"""The comparison of two versions' runs finds what differs, and only that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.compare_runs.__main__ import main
from tests.compare_runs.arrays import Arrays
from tests.compare_runs.compare import compare, differences
from tests.compare_runs.make import make

ALPHA = np.array([[0.0, 0.5, 2.0]])


def arrays() -> Arrays:
    return {
        "level-1/commit/alpha": ALPHA,
        "level-1/commit#objective": np.array(-2.5),
        "decision/exact": np.array([0.25, -1.0, np.nan]),
        "labels/exact": np.array(["red", "green", "red"]),
        "level-1/commit#seconds": np.random.default_rng().random(),  # never the same
    }


def folder(place: Path, made: Arrays) -> Path:
    place.mkdir()
    np.savez(place / "levels.npz", **made)  # type: ignore[arg-type]
    return place


def test_runs_that_are_the_same_have_no_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = folder(tmp_path / "before", arrays()), folder(tmp_path / "after", arrays())
    assert main(["compare", str(before), str(after)]) == 0
    assert capsys.readouterr().out.startswith("levels: 4 arrays, 116 bytes, no differences\n")


def test_one_value_that_changed_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = {**arrays(), "decision/exact": np.array([0.25, np.nextafter(-1.0, 0.0), np.nan])}
    before, after = folder(tmp_path / "before", arrays()), folder(tmp_path / "after", changed)
    assert main(["compare", str(before), str(after)]) == 1
    assert "decision/exact: float64 (3,), 1 of 3 differ, by 1.11e-16 at most" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("level-1/commit/alpha", ALPHA.astype(np.float32), "float32 (1, 3) after"),
        ("level-1/commit/alpha", ALPHA[0], "float64 (1, 3) before, float64 (3,) after"),
        ("level-1/commit/alpha", np.array([[-0.0, 0.5, 2.0]]), "1 of 3 differ, by 0 at most"),
        ("labels/exact", np.array(["red", "green", "green"]), "1 of 3 differ"),
        ("level-1/commit/more", ALPHA, "level-1/commit/more: float64 (1, 3) is missing before"),
    ],
)
def test_type_shape_and_bits_count(name: str, value: np.ndarray, said: str) -> None:
    [line] = differences(arrays(), {**arrays(), name: value})
    assert name in line
    assert said in line


def test_an_array_or_a_run_that_is_not_there_any_more_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = arrays()
    del fewer["labels/exact"]
    assert len(differences(arrays(), fewer)) == 1
    before, after = folder(tmp_path / "before", arrays()), tmp_path / "after"
    after.mkdir()
    assert compare(before, after) == 1
    assert f"levels: is missing in {after}" in capsys.readouterr().out
    assert compare(after, after) == 1  # nothing was compared


def test_an_array_of_another_name_and_form_is_compared_in_one_form() -> None:
    renamed = arrays()
    del renamed["level-1/commit/alpha"]
    beta = np.array([1.0, -1.0, 1.0]) * ALPHA
    assert differences(arrays(), {**renamed, "level-1/commit/beta": beta}) == []
    [line] = differences(arrays(), {**renamed, "level-1/commit/beta": 2 * beta})
    assert line.startswith("level-1/commit/beta: float64 (1, 3), 2 of 3 differ, by 2 at most")


@pytest.mark.long
def test_what_is_made_twice_is_the_same(tmp_path: Path) -> None:
    for name in ("before", "after"):
        assert make(tmp_path / name, "levels-bias") == 0
    assert compare(tmp_path / "before", tmp_path / "after") == 0
