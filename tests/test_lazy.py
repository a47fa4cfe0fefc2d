"""Names that are imported on first use: type checkers read the same files as the loader."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("dcsvm_dask.estimators", "dcsvm_dask.solvers")


def imports_for_type_checkers(tree: ast.Module) -> dict[str, str]:
    """Return the module of each name that is imported below ``if TYPE_CHECKING``."""
    (branch,) = [
        node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node)
    ]
    return {
        alias.name: str(node.module)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def imports_on_first_use(tree: ast.Module, package: str) -> dict[str, str]:
    """Return the module of each name that `on_first_use` is given."""
    (call,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "on_first_use"
    ]
    files: dict[str, tuple[str, ...]] = ast.literal_eval(call.args[1])
    return {name: f"{package}.{file}" for file, names in files.items() for name in names}


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_and_the_loader_take_names_from_the_same_files(package: str) -> None:
    module: Any = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text())
    found = imports_on_first_use(tree, package)
    assert found == imports_for_type_checkers(tree)
    assert found.keys() <= set(module.__all__)


@pytest.mark.parametrize("package", ["dcsvm_dask", "dcsvm_dask.api", *PACKAGES])
def test_every_public_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_the_modules_of_the_doors_are_those_of_type_checkers() -> None:
    from dcsvm_dask import api

    tree = ast.parse(Path(str(api.__file__)).read_text())
    assert imports_for_type_checkers(tree) == api._MODULES
