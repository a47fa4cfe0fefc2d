"""The rooms of the package stand in a list; each imports only those above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import dcsvm_dask

PACKAGE = Path(dcsvm_dask.__file__).parent
ROOMS = (
    "absent",
    "masking",
    "errors",
    "checks",
    "compiled",
    "lazy",
    "parameters",
    "spelling",
    "versions",
    "numbers",
    "random_streams",
    "kernels",
    "tasks",
    "solvers",
    "clustering",
    "features",
    "models",
    "readers",
    "storage",
    "data",
    "methods",
    "runtime",
    "prediction",
    "diagnostics",
    "pipeline",
)
DOORS = ("api", "estimators", "cli")
"""They stand below all rooms and may import one another."""
NUMERICS = ("kernels", "tasks", "solvers", "clustering", "features", "models")
FOREIGN_TO_NUMERICS = {"dask", "distributed", "zarr", "fsspec", "s3fs", "pyarrow"}
OPENERS = {"open", "fromfile", "tofile", "load", "save", "loadtxt", "savetxt", "memmap", "savez"}
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}


def test_every_file_lives_in_a_room_of_the_list() -> None:
    found = {_room(path) for path in FILES}
    assert found <= {*ROOMS, *DOORS, "__init__", "__main__", "demo"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room: str) -> None:
    allowed = {*ROOMS[: ROOMS.index(room) + 1], "__init__"}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {name}"
        for path in FILES
        if _room(path) == room
        for line, name in _imports(path)
        if name.split(".")[0] == "dcsvm_dask" and _room_of_name(name) not in allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", NUMERICS)
def test_numerics_know_neither_graphs_nor_stores_nor_files(room: str) -> None:
    wrong = []
    for path in FILES:
        if _room(path) != room:
            continue
        where = path.relative_to(PACKAGE)
        wrong += [
            f"{where}:{line} imports {name}"
            for line, name in _imports(path)
            if name.split(".")[0] in FOREIGN_TO_NUMERICS
        ]
        wrong += [f"{where}:{line} opens a file by {name}" for line, name in _file_calls(path)]
    assert not wrong, "\n".join(wrong)


def test_a_step_knows_no_dask() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {name}"
        for path in FILES
        if _room(path) in ("methods", "data", "storage")
        for line, name in _imports(path)
        if name.split(".")[0] in ("dask", "distributed")
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_form_no_circle_not_even_those_for_types_or_in_functions() -> None:
    imported = {
        module: {name for _, name in _imports(path) if name in MODULES and name != module}
        for module, path in MODULES.items()
        if module != "dcsvm_dask"  # it imports its names where they are first used
    }
    TopologicalSorter(imported).prepare()  # raises an error with the circle, if there is one


def test_the_reading_of_imports_finds_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        "from dcsvm_dask import api\nimport dcsvm_dask.runtime.session as s\n"
        "def f():\n    from dcsvm_dask.storage.run import RunFolder\n"
        "    np.load('x')\n    open('y')\n"
    )
    assert [name for _, name in _imports(path)] == [
        "dcsvm_dask.api",
        "dcsvm_dask.runtime.session",
        "dcsvm_dask.storage.run",
    ]
    assert [name for _, name in _file_calls(path)] == ["load", "open"]


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _room_of_name(name: str) -> str:
    """Return the room of an imported module; a name of the package itself is no room."""
    parts = name.split(".")
    is_room = len(parts) > 1 and parts[1] in {*ROOMS, *DOORS, "demo"}
    return parts[1] if is_room else "__init__"


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                is_module = node.module == "dcsvm_dask" or name in MODULES
                yield node.lineno, name if is_module else node.module or ""


def _file_calls(path: Path) -> Iterator[tuple[int, str]]:
    for node in _nodes(path):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open":
            yield node.lineno, "open"
        elif isinstance(function, ast.Attribute) and function.attr in OPENERS:
            yield node.lineno, function.attr


def _nodes(path: Path) -> Iterator[ast.AST]:
    yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))
