"""Packages whose files are imported on first use of their names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def on_first_use(
    package: str, files: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that imports its files on first use.

    Type checkers read ordinary imports, which the package has for them alone.

    Parameters
    ----------
    package : str
        Its name.
    files : mapping
        The names that each file offers by the package; files are named from the package on.
    """
    file_of = {name: file for file, names in files.items() for name in names}

    def found(name: str) -> Any:
        if name not in file_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{file_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *file_of})

    return found, listed
