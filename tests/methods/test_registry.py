"""The registry of methods: what they say of themselves, and that nothing else compares names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dcsvm_dask
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.registry import (
    BEGUN,
    KINDS,
    METHODS,
    has_levels,
    is_whole_problem,
    kind_of,
)
from dcsvm_dask.methods.search.graph import EARLY, EXACT
from dcsvm_dask.methods.stage_kind import StageKind

PACKAGE = Path(dcsvm_dask.__file__).parent


def test_each_method_is_found_by_its_own_name() -> None:
    assert all(name == method.name for name, method in BEGUN.items())


@pytest.mark.parametrize("name", [*METHODS, "compressed"])
def test_what_reports_ask_has_an_answer_for_every_run(name: str) -> None:
    assert has_levels(name) == (name in ("dcsvm", "subsample"))
    assert is_whole_problem(name) == (
        name in ("dcsvm", "decomposition", "cascade", "online", "libsvm")
    )


def test_nothing_compares_a_method_by_its_name() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in _comparisons(path, {*BEGUN, "compressed"})
    ]
    assert not found, "\n".join(found)


def test_the_reading_of_comparisons_finds_them(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        "if settings.method != 'dcsvm': pass\nx = name in ('online', 'greedy')\n"
        "y = kind == 'other'\nmatch name:\n    case 'bagging': pass\n"
    )
    assert list(_comparisons(path, set(METHODS))) == [1, 2, 5]


def test_nothing_outside_of_methods_compares_the_kind_of_a_stage_by_its_name() -> None:
    # Modes of prediction are called "early", "exact" and "committee", too; layers "map".
    names = {*KINDS} - {EARLY, EXACT, "committee", "map"}
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] in ("runtime", "prediction", "diagnostics", "api")
        for line in _comparisons(path, names)
    ]
    assert not found, "\n".join(found)


def test_a_stage_has_the_kind_that_its_name_begins_with() -> None:
    assert kind_of("level-2").of_blocks
    assert kind_of("conquer-003").until_tolerance
    assert not kind_of("refine-000").of_all_rows
    assert kind_of("score-model-conquer-003").judges
    assert kind_of("unheard-of") == StageKind("unheard")


def _comparisons(path: Path, names: set[str]) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=operands):
                pass  # a name that is looked up in a record is no comparison
            case ast.Compare(left=left, comparators=others):
                operands = [left, *others]
            case ast.MatchValue(value=value):
                operands = [value]
            case _:
                continue
        if any(word in names for operand in operands for word in _words(operand)):
            yield node.lineno


def _words(operand: ast.expr) -> list[str]:
    """Return the strings of a constant, or of a tuple, list or set of constants."""
    many = operand.elts if isinstance(operand, ast.Tuple | ast.List | ast.Set) else [operand]
    return [one.value for one in many if isinstance(one, ast.Constant) and type(one.value) is str]


def test_a_method_says_all_in_one_object() -> None:
    for method in METHODS.values():
        assert isinstance(method, Method)
        assert method.about
        assert method.options().to_json() is not None
