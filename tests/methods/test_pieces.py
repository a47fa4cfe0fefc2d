"""Steps by themselves: nodes, scopes, the choice of blocks, settings, the regime."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Boxes, Kernel, kd_order
from dcsvm_dask.methods.conquer.point import select_blocks
from dcsvm_dask.methods.dcsvm.blocks import next_bias
from dcsvm_dask.methods.node import peak_bytes, run_node
from dcsvm_dask.methods.partition import group_by_label
from dcsvm_dask.methods.regime import regime
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.sizes import blocks_of_part, share
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import svc_dual
from tests.svc import balanced, reach, violation_box

SETTINGS = Settings(
    kernel=Kernel("poly", 0.5, 2, 1.0),
    C=2.0,
    fit_intercept=True,
    clusters=(16, 4),
    levels_forced=True,
    n_samples_clustering=100,
    block_cap=64,
    set_cap=64,
    level_tol=1e-2,
    alone_tol=3e-4,
    seed=3,
    chunk_rows=100,
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    header = {
        "settings": SETTINGS.to_json(),
        "goals": {"tol": 1e-3},
        "shape": {},
        "data": {"url": "none", "fingerprint": "none"},
        "versions": {},
    }
    return RunFolder.create(Location.of(tmp_path / "run"), header)


def counted(run: RunFolder, attempt: Attempt, *, times: int) -> Record:
    """A step that writes an array and tells how often it was called."""
    calls.append(times)
    attempt.write("a", np.arange(times))
    if times < 0:
        raise ValueError("negative")
    return {"times": times}


calls: list[int] = []


def test_a_node_is_done_once_however_often_it_is_asked_for(folder: RunFolder) -> None:
    calls.clear()
    first = run_node(folder.place.url, "s", "n", counted, {"times": 3})
    again = run_node(folder.place.url, "s", "n", counted, {"times": 4})
    assert calls == [3]
    assert again == first
    assert first["times"] == 3
    assert first["seconds"] >= 0.0
    assert first["peak_bytes"] > 10 << 20
    np.testing.assert_array_equal(folder.node("s", "n").read("a"), [0, 1, 2])


def test_a_node_is_not_done_again_in_a_stage_that_is_settled(folder: RunFolder) -> None:
    """Dask asks for it where a worker that had its result is lost."""
    calls.clear()
    first = run_node(folder.place.url, "s", "n", counted, {"times": 3})
    run_node(folder.place.url, "s", "commit", counted, {"times": 0})
    folder.settle("s", ["commit"])
    assert folder.released("s") == {"n"}
    assert run_node(folder.place.url, "s", "n", counted, {"times": 3}) == first
    assert calls == [3, 0]
    folder.reopen("s")  # now it is to be done again
    run_node(folder.place.url, "s", "n", counted, {"times": 4})
    assert calls == [3, 0, 4]


def test_a_node_that_fails_leaves_nothing_that_exists(folder: RunFolder) -> None:
    with pytest.raises(ValueError, match="negative"):
        run_node(folder.place.url, "s", "n", counted, {"times": -1})
    assert folder.find("s", "n") is None
    folder.settle("s", folder.nodes("s"))
    assert folder.stage("s").list() == []
    assert run_node(folder.place.url, "s", "n", counted, {"times": 1})["times"] == 1


@given(n=st.integers(0, 10_000), parts=st.integers(1, 40))
def test_shares_are_a_partition_of_nearly_equal_parts(n: int, parts: int) -> None:
    borders = [share(n, part, parts) for part in range(parts)]
    assert [i for start, stop in borders for i in range(start, stop)] == list(range(n))
    sizes = [stop - start for start, stop in borders]
    assert max(sizes) - min(sizes) <= 1


@given(
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=30),
    parts=st.integers(1, 12),
)
def test_every_block_is_arranged_by_exactly_one_part(sizes: list[int], parts: int) -> None:
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    found = [blocks_of_part(offsets, part, parts) for part in range(parts)]
    assert [b for start, stop in found for b in range(start, stop)] == list(range(len(sizes)))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60))
def test_rows_are_grouped_by_label_in_their_order(labels: list[int]) -> None:
    array = np.array(labels, dtype=np.int32)
    index, offsets, kept = group_by_label(array)
    assert sorted(index) == list(range(len(labels)))
    for position, label in enumerate(kept):
        members = index[offsets[position] : offsets[position + 1]]
        np.testing.assert_array_equal(members, np.flatnonzero(array == label))


numbers = st.floats(0.0, 1.0)


@given(
    alpha=st.lists(numbers, min_size=2, max_size=30),
    signs=st.lists(st.booleans(), min_size=30, max_size=30),
)
def test_balancing_scales_the_heavier_class_down(alpha: list[float], signs: list[bool]) -> None:
    a = np.array(alpha)
    y = np.where(signs[: len(a)], 1.0, -1.0)
    found = balanced(a, y, np.full(len(a), a.max()))
    assert abs(y @ found) <= 1e-9 * max(1.0, found.sum())
    assert (found >= 0.0).all()
    assert (found <= a + 1e-15).all()
    lighter = 1.0 if a[y > 0].sum() <= a[y < 0].sum() else -1.0
    if min(a[y > 0].sum(), a[y < 0].sum()) > 0:
        np.testing.assert_allclose(found[y == lighter], a[y == lighter], rtol=1e-12)
    else:
        assert (found == 0.0).all()


def test_balancing_leaves_those_at_their_bound_where_the_free_ones_hold_enough() -> None:
    y = np.array([1.0, 1.0, 1.0, -1.0])
    found = balanced(np.array([2.0, 1.0, 0.5, 3.0 - 1e-3]), y, np.full(4, 2.0))
    assert found[[0, 3]].tolist() == [2.0, 2.999]
    assert y @ found == pytest.approx(0.0, abs=1e-12)


@given(st.floats(-2, 2), st.floats(-100, 100), st.floats(-50, -0.1))
def test_the_next_bias_is_where_the_line_is_zero_or_half_a_margin_on(
    bias: float, balance: float, slope: float
) -> None:
    found = next_bias(bias, balance, slope)
    assert abs(found - bias) <= 0.5 + 1e-12  # rounding
    if abs(balance / slope) <= 0.5:
        assert balance + slope * (found - bias) == pytest.approx(0.0, abs=1e-9)
    assert next_bias(bias, balance, 0.0) == bias


@given(
    st.lists(
        st.tuples(st.floats(-5, 5), st.sampled_from([0.0, 0.3, 1.0]), st.just(1.0)),
        min_size=1,
        max_size=30,
    )
)
def test_reach_is_the_violation_where_it_is_above_zero(
    triples: list[tuple[float, float, float]],
) -> None:
    gradient, alpha, C = (np.array(column) for column in zip(*triples, strict=True))
    found = reach(gradient, alpha, C)
    assert max(0.0, found.max()) == violation_box(gradient, alpha, C)


class Rows:
    """A problem of rows on a line, as far as the choice of blocks looks at one."""

    size = None

    def __init__(self, n: int, cap: int, *, boxes: bool = False) -> None:
        rng = np.random.default_rng(n)
        self.X = rng.random((n, 2)).astype(np.float32)
        self.X = self.X[kd_order(self.X)]
        self.boxes = Boxes.of(self.X, np.array([n])) if boxes else None
        self.dual = svc_dual(np.ones(n), 1.0)
        self.settings = replace(SETTINGS, block_cap=cap)

    def take(self, index: np.ndarray) -> np.ndarray:
        return self.X[index]


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@pytest.mark.parametrize(("n", "cap"), [(50, 100), (150, 100), (1000, 100), (25_000, 2500)])
def test_blocks_of_a_round(number: int, n: int, cap: int) -> None:
    problem: Any = Rows(n, cap, boxes=cap > 100)
    rng = np.random.default_rng(number)
    alpha = rng.choice([0.0, 0.5, 1.0], n)
    reach = rng.normal(size=n)
    free = (alpha > 0) & (alpha < 1)
    reach[free] = np.abs(reach[free])
    rows = np.arange(n)
    how: dict[str, Any] = {"number": number, "tol": 1e-3}
    blocks = select_blocks(problem, rows, alpha, reach, **how)
    again = select_blocks(problem, rows, alpha, reach, **how)
    assert [list(b) for b in blocks] == [list(b) for b in again]
    chosen = np.concatenate(blocks)
    assert len(np.unique(chosen)) == len(chosen)
    assert reach.argmax() in chosen
    for block in blocks:
        assert 0 < len(block) <= cap
        assert (np.diff(block) > 0).all()
    if n == 50:
        assert len(blocks) == 1
    else:
        # Nothing that violates by much is left out, nor is any free variable.
        assert set(np.flatnonzero(reach > 1e-3)) <= set(chosen)


def test_settings_survive_json() -> None:
    text = json.dumps(SETTINGS.to_json(), allow_nan=False)
    assert Settings.from_json(json.loads(text)) == SETTINGS


@pytest.mark.parametrize(
    "change",
    [
        {"C": None, "colour": 1},
        {"kernel": {"name": "rbf", "gamma": -1.0}},
        {"kernel": None},
        {"clusters": ["a"]},
        {"clusters": 3},
        {"task": "clairvoyance"},
    ],
)
def test_settings_that_are_damaged_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="settings are damaged"):
        Settings.from_json({**SETTINGS.to_json(), **change})


def test_settings_that_lack_a_key_are_refused() -> None:
    value = SETTINGS.to_json()
    del value["seed"]
    with pytest.raises(InputError, match="settings are damaged"):
        Settings.from_json(value)


@pytest.mark.parametrize(
    ("blocks", "whole", "pays"),
    [
        (-100.0, -99.0, True),
        (-100.0, -51.0, True),
        (-100.0, -40.0, False),  # put together, blocks overshoot
        (-100.0, 30.0, False),
        (0.0, 0.0, False),
    ],
)
def test_levels_pay_where_blocks_know_most_of_the_answer(
    blocks: float, whole: float, pays: bool
) -> None:
    record = {"objective": blocks, "objective_estimate": whole}
    found = regime(record)
    assert found["levels_pay"] is pays
    assert found["why"].startswith("levels save" if pays else "levels do not save")
    alone = "clusters alone, put together, are worse" if whole > 0.0 else "clusters alone have "
    assert regime(record, decides=False)["why"].startswith(alone)


def test_the_peak_is_that_of_the_process_and_not_of_its_parent() -> None:
    ballast = np.ones(400 << 17)  # 400 MiB in this process
    code = "from dcsvm_dask.methods.node import peak_bytes; print(peak_bytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 10 << 20 < int(done.stdout) < ballast.nbytes < peak_bytes()
