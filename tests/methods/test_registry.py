"""The registry of methods: what they say of themselves, and that nothing else compares names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dcsvm_dask
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.registry import BEGUN, METHODS, has_levels, is_whole_problem

PACKAGE = Path(dcsvm_dask.__file__).parent


def test_each_method_is_found_by_its_own_name() -> None:
    assert all(name == method.name for name, method in BEGUN.items())


@pytest.mark.parametrize("name", [*METHODS, "compressed"])
def test_what_reports_ask_has_an_answer_for_every_run(name: str) -> None:
    assert has_levels(name) == (name in ("dcsvm", "subsample"))
    assert is_whole_problem(name) == (name in ("dcsvm", "cascade", "online", "libsvm"))


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


def _comparisons(path: Path, names: set[str]) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare | ast.MatchValue):
            words = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
            if any(word in names for word in words if isinstance(word, str)):
                yield node.lineno


def test_a_method_says_all_in_one_object() -> None:
    for method in METHODS.values():
        assert isinstance(method, Method)
        assert method.about
        assert method.options().to_json() is not None
