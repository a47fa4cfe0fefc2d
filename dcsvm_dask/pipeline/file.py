"""A pipeline file: data, preparation, methods and output in TOML, checked before anything runs.

What a command says instead of what the pipeline file says.

Where in a TOML file a key stands, for messages: parsers do not say.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from dcsvm_dask.absent import no_such
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.models.model import LEVEL_MODES
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.pipeline.training import Training, parameter_names
from dcsvm_dask.tasks import DATA_TASKS

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")


def line_of(text: str, table: str, key: str | None = None, number: int = 0) -> int | None:
    """Return the line of a key, from 1; of the table's header where no key is asked for.

    Parameters
    ----------
    text : str
    table : str
        Its name, as ``[table]`` or ``[[table]]`` has it.
    key : str, optional
    number : int, default 0
        Of several tables of that name, which one.

    Returns
    -------
    int or None
        None where it stands otherwise, for example as a dotted key.
    """
    seen, inside = -1, False
    for place, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            inside = header[2].strip("\"'") == table
            seen += inside
            if inside and seen == number and key is None:
                return place
        elif inside and seen == number and key is not None and _begins(line, key):
            return place
    return None


def _begins(line: str, key: str) -> bool:
    return re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line) is not None


def override(content: dict[str, Any], changes: Sequence[str]) -> None:
    """Put ``TABLE.KEY=VALUE`` into what a file says, in place.

    Parameters
    ----------
    content : dict
        The file's tables.
    changes : sequence of str
        TABLE is ``data``, ``every``, ``test``, ``output``, ``method`` (all methods), or the name
        of one (its ``as``, else its ``name``); VALUE is TOML, or a word.

    Raises
    ------
    InputError
        If one is of another form, or there is no such table.
    """
    for change in changes:
        place, equals, text = change.partition("=")
        table, dot, key = place.strip().partition(".")
        if not (equals and dot and key):
            raise InputError(f"set must be TABLE.KEY=VALUE, got {change!r:.80}")
        value = value_of(text)
        methods = content.get("method")
        listed = methods if isinstance(methods, list) else [methods]
        tables = [one for one in listed if isinstance(one, dict)]
        named = [one for one in tables if one.get("as", one.get("name")) == table]
        if table in ("data", "every", "test", "output"):
            chosen = [content.setdefault(table, {})]
        else:
            chosen = tables if table == "method" else named
        if not chosen:
            known = [str(one.get("as", one.get("name"))) for one in tables]
            raise InputError(
                f"set: {table!r:.80} is no table; there are data, every, test, output, method, "
                f"{', '.join(known)}"
            )
        for one in chosen:
            if isinstance(one, dict):
                one[key] = value


def value_of(text: str) -> Any:
    """Return a value as TOML has it; what is none is a word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


Types = Mapping[str, tuple[type, ...]]

DATA_KEYS: Types = {
    "source": (str,),
    "test": (str,),
    "label": (str, int),
    "drop": (list,),
    "columns": (list,),
    "one_hot": (str, list),
    "ordinal": (dict,),
    "missing": (str,),
    "missing_words": (list,),
    "dates": (str,),
    "decimal": (str,),
    "data": (str,),
    "target": (str,),
    "encoding": (str,),
    "scale": (str,),
    "test_fraction": (float,),
    "seed": (int,),
    "positive": (list,),
    "task": (str,),
    "shuffle": (bool,),
    "train_rows": (int,),
    "weights": (str,),
}
OUTPUT_KEYS: Types = {"run": (str,), "data": (str,)}
TEST_KEYS: Types = {"modes": (list,)}
_METHOD_TYPES: Types = {
    "str": (str,),
    "float": (float, int),
    "int": (int,),
    "bool": (bool,),
    "int | str": (int, str),
    "str | None": (str,),
    "int | None": (int,),
    "float | None": (float, int),
    "float | str": (float, int, str),
    "float | tuple[float, ...] | None": (float, int, list),
    "str | dict[Any, float] | None": (str, dict),
    "tuple[int, ...] | None": (list,),
}


MOST_TRAININGS = 10_000
"""Most trainings of a method's grid."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One training of a pipeline."""

    name: str
    """What tells it from the others; empty where it is the only one."""
    training: Training
    run: str
    """The run folder."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a pipeline file says."""

    data: dict[str, Any]
    """Arguments of `ingest`; ``source`` and ``test`` are places or URLs."""
    data_out: str
    """Where the data set goes."""
    trainings: tuple[Planned, ...]
    """In the order of the file; a grid's one after the other."""
    folder: str | None
    """Where runs lie side by side; None where there is one method, without a grid."""
    modes: tuple[str, ...] | None
    """How the levels of each run are to predict all rows held out; None: no test is asked for."""

    @property
    def training(self) -> Training:
        """The first training."""
        return self.trainings[0].training

    @property
    def run(self) -> str:
        """The run folder of the first training."""
        return self.trainings[0].run


class File:
    """A file that is being read; its methods refuse what cannot be used, with the line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_bytes().decode("utf-8")
            self.content: dict[str, Any] = tomllib.loads(self.text)
        except FileNotFoundError as error:
            raise InputError(f"{path}: {no_such('file', str(path))}") from error
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:  # no UTF-8, a number of 5000 digits
            raise InputError(f"{path}: is not TOML: {error}") from error

    def refuse(
        self, table: str, problem: str, key: str | None = None, number: int = 0
    ) -> InputError:
        """Return the error that something in a table cannot be used."""
        line = line_of(self.text, table, key, number)
        where = f"{self.path}:{line}" if line is not None else f"{self.path}"
        return InputError(f"{where}: [{table}] {problem}")

    def checked(
        self, table: str, content: object, keys: Types, required: Sequence[str], number: int = 0
    ) -> dict[str, Any]:
        """Return a table whose keys are known and of their types."""
        if not isinstance(content, dict):
            raise InputError(f"{self.path}: {table} must be a table")
        for key, value in content.items():
            if key not in keys:
                raise self.refuse(
                    table, f"{key:.80} is unknown; known: {', '.join(keys)}", key, number
                )
            if not is_of(value, keys[key]):
                names = " or ".join(kind.__name__ for kind in keys[key])
                problem = f"{key:.80} = {value!r:.80} must be of type {names}"
                raise self.refuse(table, problem, key, number)
        for key in required:
            if key not in content:
                raise self.refuse(table, f"{key} is missing", None, number)
        return dict(content)

    def resolve(self, table: dict[str, Any], *keys: str) -> None:
        """Have the paths of a table begin at the file's own folder."""
        for key in keys:
            if isinstance(table.get(key), str) and table[key] and "://" not in table[key]:
                table[key] = str(self.path.parent / table[key])


def read_pipeline(path: str | Path, changes: Sequence[str] = ()) -> Pipeline:
    """Read and check a pipeline file.

    Sources are found from the file's own folder, outputs from the folder of the caller.

    Parameters
    ----------
    path : str or Path
    changes : sequence of str
        ``TABLE.KEY=VALUE``, instead of what the file says; see `override`.

    Raises
    ------
    InputError
        With the file, the line, the table and the key, if the file is absent or no TOML, a key is
        unknown or missing, or a value impossible.
    """
    file = File(Path(path))
    override(file.content, changes)
    tables = {"data", "method", "output"}
    if not tables <= set(file.content) <= {*tables, "every", "test"}:
        raise InputError(
            f"{file.path}: has the tables {sorted(file.content)!s:.400}; it must have [data], "
            "[method], [output], and may have [every] and [test]"
        )
    data = file.checked("data", file.content["data"], DATA_KEYS, ("source",))
    output = file.checked("output", file.content["output"], OUTPUT_KEYS, ("run", "data"))
    for label in data.get("positive", ()):
        if not isinstance(label, str | int | float):
            raise file.refuse("data", f"positive: {label!r:.80} is no label", "positive")
    methods = file.content["method"]
    every = file.content.get("every", {})
    if not isinstance(every, dict):
        raise InputError(f"{file.path}: every must be a table")
    listed = methods if isinstance(methods, list) else [methods]
    file.resolve(data, "source", "test", "weights")
    for table in (every, *(one for one in listed if isinstance(one, dict))):
        file.resolve(table, "tables")
    known = dict.fromkeys(key for method in METHODS for key in keys_of(method))
    for key in every:
        if key not in known:
            raise file.refuse("every", f"{key:.80} is unknown; known: {', '.join(known)}", key)
    if not listed:
        raise InputError(f"{file.path}: there is no method; give [method] a name")
    found = [
        one
        for number, table in enumerate(listed)
        for one in read_method(file, table, every, number, data.get("task"))
    ]
    modes = None
    if "test" in file.content:
        modes = read_modes(file, calibrated=any(one.committee for _, one in found))
    if isinstance(methods, dict) and len(found) == 1:
        only = Planned("", found[0][1], output["run"])
        return Pipeline(data, output["data"], (only,), None, modes)
    names = [name for name, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{file.path}: two methods are called {name}; give one of them `as`")
    trainings = tuple(Planned(name, one, f"{output['run']}/{name}") for name, one in found)
    return Pipeline(data, output["data"], trainings, output["run"], modes)


def read_modes(file: File, *, calibrated: bool) -> tuple[str, ...]:
    """Return how levels are to be tested; `calibrated`: whether any has a committee."""
    modes = file.checked("test", file.content["test"], TEST_KEYS, ("modes",))["modes"]
    for mode in modes:
        if mode not in LEVEL_MODES:
            known = ", ".join(LEVEL_MODES)
            raise file.refuse("test", f"modes: {mode!r:.80} is unknown; known: {known}", "modes")
        if mode == "committee" and not calibrated:
            text = "modes: committee needs levels that are calibrated: a method's committee = true"
            raise file.refuse("test", text, "modes")
    return tuple(dict.fromkeys(modes))


def read_method(
    file: File, table: object, every: dict[str, Any], number: int, task: str | None
) -> list[tuple[str, Training]]:
    """Return the trainings of a method's table by their names: several where it has a grid.

    A list where one value is wanted is a grid, and so is a list of lists where a list is wanted;
    ``[every]`` is for all methods that know its keys. Where the file says the task of its data, a
    method that does not learn it is refused.
    """
    name = table.get("name") if isinstance(table, dict) else None
    if isinstance(name, str) and name not in METHODS:
        text = f"name {name!r} is unknown; known: {', '.join(METHODS)}"
        raise file.refuse("method", text, "name", number)
    types = keys_of(name if isinstance(name, str) else DEFAULT_METHOD)
    keys = {"name": (str,), "as": (str,), **{key: (*kinds, list) for key, kinds in types.items()}}
    own = file.checked("method", table, keys, ("name",), number)
    words = {key: value for key, value in every.items() if key in types} | own
    called, words["method"] = words.pop("as", own["name"]), words.pop("name")

    if not re.fullmatch(r"\w[\w.-]*", called):
        text = f"as = {called!r:.80} is no name of a folder: letters, digits, . _ - are possible"
        raise file.refuse("method", text, "as", number)

    def refuse(key: str, text: str) -> InputError:
        if key in own or key not in every:
            return file.refuse("method", text, key, number)
        problem = f"{text}. This is for method {called}, whose own table may have another {key}"
        return file.refuse("every", problem, key)

    grid = {key: value for key, value in words.items() if is_grid(value, types.get(key, ()))}
    count = math.prod(len(values) for values in grid.values())
    if not 0 < count <= MOST_TRAININGS:
        text = f"its lists make {count} trainings; from 1 to {MOST_TRAININGS} are possible"
        raise file.refuse("method", text, None, number)
    trainings = []
    for values in product(*grid.values()):
        point = dict(zip(grid, values, strict=True))
        for key, value in (words | point).items():
            if key != "method" and not is_of(value, types[key]):
                names = " or ".join(kind.__name__ for kind in types[key])
                raise refuse(key, f"{key:.80} = {value!r:.80} must be of type {names}")
        try:
            training = Training.of(as_python(words | point))
            if task in DATA_TASKS:
                training.of_task.check_for(task)
        except InputError as error:
            first = re.match(r"[\w-]*", str(error))  # they begin with the parameter
            key = first[0].replace("-", "_") if first else ""
            raise refuse("name" if key == "method" else key, str(error)) from error
        label = "-".join([called, *(f"{key}={label_of(value)}" for key, value in point.items())])
        trainings.append((label, training))
    return trainings


def is_grid(value: object, kinds: tuple[type, ...]) -> bool:
    """Whether a value is a list of values of some types."""
    if not isinstance(value, list):
        return False
    return list not in kinds or (len(value) > 0 and all(isinstance(one, list) for one in value))


def label_of(value: Any) -> str:
    """Return a value as the name of a folder has it."""
    return "_".join(map(str, value)) if isinstance(value, list) else str(value)


def as_python(words: dict[str, Any]) -> dict[str, Any]:
    """Return words as `train` has them: what TOML has as a list is a tuple there."""
    return {key: tuple(v) if isinstance(v, list) else v for key, v in words.items()}


def keys_of(method: str) -> dict[str, tuple[type, ...]]:
    """Return the keys that a method's table may have, and of which types."""
    every = (*fields(Training), *fields(METHODS[method].options))
    types = {one.name: str(one.type) for one in every}
    return {
        word: _METHOD_TYPES[types[word]] for word in parameter_names(method) if word != "method"
    }


def is_of(value: object, kinds: tuple[type, ...]) -> bool:
    """Whether a value is of one of some types; true and false are no numbers to a user."""
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
