"""A pipeline file: data, preparation, method and output in TOML, checked before anything runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.training import Training

DATA_KEYS: dict[str, tuple[type, ...]] = {
    "source": (str,),
    "test": (str,),
    "label": (str, int),
    "scale": (str,),
    "test_fraction": (float,),
    "seed": (int,),
    "positive": (list,),
}
OUTPUT_KEYS: dict[str, tuple[type, ...]] = {"run": (str,), "data": (str,)}
METHODS = ("dcsvm",)
_METHOD_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "float": (float, int),
    "int": (int,),
    "bool": (bool,),
    "int | str": (int, str),
    "int | None": (int,),
    "tuple[int, ...] | None": (list,),
}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a pipeline file says."""

    data: dict[str, Any]
    """Arguments of `ingest`; ``source`` and ``test`` are places or URLs."""
    data_out: str
    """Where the data set goes."""
    training: Training
    """The method's parameters."""
    run: str
    """The run folder."""


def read_pipeline(path: str | Path) -> Pipeline:
    """Read and check a pipeline file.

    Sources are found from the file's own folder, outputs from the folder of the caller.

    Raises
    ------
    InputError
        With the file, the table and the key, if the file is absent or no TOML, a key is unknown
        or missing, or a value impossible.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of 5000 digits
        raise InputError(f"{path}: is not TOML: {error}") from error
    tables = {"data", "method", "output"}
    if set(content) != tables:
        raise InputError(
            f"{path}: has the tables {sorted(content)}; it must have [data], [method], [output]"
        )
    data = _checked(path, "data", content["data"], DATA_KEYS, required=("source",))
    output = _checked(path, "output", content["output"], OUTPUT_KEYS, required=("run", "data"))
    method_keys = {"name": (str,)} | {f.name: _METHOD_TYPES[str(f.type)] for f in fields(Training)}
    method = _checked(path, "method", content["method"], method_keys, required=("name",))
    name = method.pop("name")
    if name not in METHODS:
        raise InputError(f"{path}: [method] name {name!r} is unknown; known: {', '.join(METHODS)}")
    if "clusters" in method:
        method["clusters"] = tuple(method["clusters"])
    for label in data.get("positive", ()):
        if not isinstance(label, str | int | float):
            raise InputError(f"{path}: [data] positive: {label!r:.80} is no label")
    for key in ("source", "test"):
        if key in data and "://" not in data[key]:
            data[key] = str(path.parent / data[key])
    try:
        training = Training(**method)
    except InputError as error:
        raise InputError(f"{path}: [method] {error}") from error
    return Pipeline(data, output["data"], training, output["run"])


def _checked(
    path: Path,
    table: str,
    content: object,
    keys: Mapping[str, tuple[type, ...]],
    required: tuple[str, ...],
) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise InputError(f"{path}: {table} must be a table")
    for key, value in content.items():
        if key not in keys:
            raise InputError(f"{path}: [{table}] {key} is unknown; known: {', '.join(keys)}")
        # bool is an int to Python, not to a user
        fits = isinstance(value, keys[key]) and (not isinstance(value, bool) or bool in keys[key])
        if not fits:
            names = " or ".join(kind.__name__ for kind in keys[key])
            raise InputError(f"{path}: [{table}] {key} = {value!r:.80} must be of type {names}")
    for key in required:
        if key not in content:
            raise InputError(f"{path}: [{table}] {key} is missing")
    return dict(content)
