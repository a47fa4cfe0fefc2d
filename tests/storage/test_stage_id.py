"""Names of stages: made and taken apart in one file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dcsvm_dask
from dcsvm_dask.storage.stage_id import (
    COMMITTEE,
    CONQUER,
    KINDS,
    MODEL,
    SCORE,
    StageId,
    scores_of,
)

PACKAGE = Path(dcsvm_dask.__file__).parent


@pytest.mark.parametrize(
    ("name", "kind", "number", "round_", "height"),
    [
        (StageId.level(2), "level", 2, None, 2),
        (StageId.numbered(CONQUER, 7), "conquer", 7, 7, 0),
        (StageId.numbered("grow", 3, digits=2), "grow", 3, None, 0),
        (StageId("arrange"), "arrange", None, None, 0),
        (StageId.about(MODEL, StageId.numbered(CONQUER, 7)), "model", None, None, 0),
        (StageId.about(SCORE, StageId.level(1)), "score", None, None, 0),
    ],
)
def test_a_name_says_what_the_stage_is(
    name: StageId, kind: str, number: int | None, round_: int | None, height: int
) -> None:
    assert (name.kind, name.number, name.round, name.height) == (kind, number, round_, height)
    assert name.is_level == (height > 0)


def test_names_are_those_of_run_folders() -> None:
    last = StageId.numbered(CONQUER, 12)
    assert (StageId.level(3), last) == ("level-3", "conquer-012")
    assert scores_of(last) == ("score-conquer-012", "score-model-conquer-012")
    assert StageId.numbered("grow", 3, digits=2) == "grow-03"


def test_a_score_is_about_the_stage_whose_model_it_scores() -> None:
    model = StageId.about(MODEL, StageId.numbered(CONQUER, 3))
    committee = StageId.about(COMMITTEE, StageId.level(2))
    assert StageId.about(SCORE, model).origin == model
    assert StageId.about(SCORE, committee).origin == "level-2"
    assert StageId.about(SCORE, committee).subject == committee
    assert model.origin == model


@pytest.mark.parametrize("name", ["level-x", "level-2.tmp", "conquer-", "pass-1-2"])
def test_names_that_no_stage_has(name: str) -> None:
    assert not StageId(name).is_possible


@pytest.mark.parametrize("name", ["arrange", "level-0", "conquer-003", "model-bag", "early-1"])
def test_names_that_a_stage_may_have(name: str) -> None:
    assert StageId(name).is_possible


def test_nothing_else_takes_a_name_apart() -> None:
    """By an f-string, by the beginning of a string, or cut at the hyphen."""
    kinds = "|".join(KINDS)
    apart = re.compile(
        rf'f"({kinds})-\{{|"({kinds})-"|startswith\(\(?"({kinds})'
        r"|(stage|stage\.name|event\.stage)\.(split|r?partition|removeprefix|startswith)\("
    )
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "stage_id.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if apart.search(line)
    ]
    assert not found, "\n".join(found)
