"""Cluster files: reading them from YAML and checking their keys."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from dcsvm_dask.absent import no_such
from dcsvm_dask.errors import InputError

LOCAL, SSH = "local", "ssh"
QUEUES: tuple[str, ...] = ("slurm", "pbs", "sge", "lsf", "oar", "moab", "htcondor")
KINDS = (LOCAL, SSH, *QUEUES)
COMMON = ("kind", "memory", "environment", "dask")
KEYS: dict[str, tuple[str, ...]] = {
    LOCAL: (*COMMON, "workers"),
    SSH: (*COMMON, "hosts", "workers_per_host", "options"),
    **dict.fromkeys(QUEUES, (*COMMON, "workers", "adapt", "workers_per_job", "options")),
}
"""Keys of a file by its kind."""
GIVEN_BY = {
    "hosts": "hosts",
    "cores": "workers_per_job",
    "processes": "workers_per_job",
    "memory": "memory",
    "n_workers": "workers or adapt",
}
"""Options of a cluster's class that are given by a key of the file."""
NOT_OURS = {"asynchronous", "job_cls", "loop", "nanny", "scheduler_cls", "worker_class"}
NOT_OURS |= {"worker_command"}
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """A description of workers of one thread each.

    Parameters
    ----------
    name : str
        Path of the file.
    kind : str
        One of `KINDS`.
    workers : int, optional
        Number of workers; None: the number of cores (local), that of the hosts (ssh), or as many as
        the tasks need (`adapt`).
    adapt : tuple (minimum, maximum), optional
        Range of the number of workers that a queue's cluster adapts to its tasks.
    memory : int, optional
        Bytes of each worker; None: an equal share of this machine's (local).
    together : int, default 1
        Workers of one job or host.
    hosts : tuple of str
        SSH: the scheduler's host, then those of workers.
    options : dict
        Keyword arguments of the cluster's class.
    environment : dict
        Environment variables of worker processes.
    dask : dict
        Dask's configuration with dotted names.
    """

    name: str
    kind: str
    workers: int | None = None
    adapt: tuple[int, int] | None = None
    memory: int | None = None
    together: int = 1
    hosts: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    dask: Mapping[str, Any] = field(default_factory=dict)

    @property
    def least(self) -> int:
        """Number of workers of a queue that are started first: at least those of one job."""
        return max(self.adapt[0], self.together) if self.adapt else self.workers or 1


def read_cluster(file: str | os.PathLike[str]) -> ClusterFile:
    """Read a cluster file.

    Raises
    ------
    InputError
        If it is not a valid cluster file, with the line and the key.
    """
    name = os.fspath(file)
    found = read_documents(name)
    how = foreign_command(name, found)
    if how is not None:
        raise InputError(
            f"{name}: is not for --cluster: start it with `{how}`, then give its scheduler's "
            f"address with --scheduler (see `dcsvm cluster {name}`)"
        )
    if len(found) != 1 or not isinstance(found[0], dict):
        raise InputError(f"{name}: is not a cluster file; begin it with `kind: {'|'.join(KINDS)}`")
    return _Checked(name, found[0], _lines(name)).cluster()


def read_documents(name: str) -> list[Any]:
    """Return the documents of a YAML file.

    Raises
    ------
    InputError
        If it is missing or not YAML.
    """
    try:
        return list(yaml.safe_load_all(Path(name).read_text(encoding="utf-8")))
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{name}: {no_such('file', str(name))}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: is not YAML: {error}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}:{line}: is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{name}: is not YAML: {' '.join(str(error).split())}") from error


def foreign_command(name: str, documents: list[Any]) -> str | None:
    """Return the command that applies a file of kubectl or Docker Compose; else None."""
    first = documents[0] if documents and isinstance(documents[0], dict) else {}
    if "apiVersion" in first:
        return f"kubectl apply -f {name}"
    if "services" in first:
        return f"docker compose -f {name} up --build --detach"
    return None


def _lines(name: str) -> dict[str, int]:
    """Return the line of each top-level key; duplicate keys raise an error."""
    lines: dict[str, int] = {}
    tree = yaml.compose(Path(name).read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    assert isinstance(tree, yaml.MappingNode)
    for key, _ in tree.value:
        if key.value in lines:
            raise InputError(
                f"{name}:{key.start_mark.line + 1}: {key.value}: is also in line "
                f"{lines[key.value]}; remove one"
            )
        lines[key.value] = key.start_mark.line + 1
    return lines


class _Checked:
    """The checked values of a file's keys."""

    def __init__(self, name: str, values: dict[str, Any], lines: dict[str, int]) -> None:
        self._name = name
        self._values = values
        self._lines = lines

    def cluster(self) -> ClusterFile:
        kind = self._values.get("kind")
        if kind not in KINDS:
            self._fail("kind", f"must be one of {', '.join(KINDS)}, got {kind!r}")
        for key in self._values:
            if key not in KEYS[kind]:
                known = ", ".join(KEYS[kind])
                self._fail(key, f"is not a key of kind {kind}; use {known}")
        memory = self._memory()
        if memory is None and kind != LOCAL:
            self._fail("kind", f"{kind} needs memory, that of a worker: `memory: 4GiB`")
        together = "workers_per_host" if kind == SSH else "workers_per_job"
        found = ClusterFile(
            name=self._name,
            kind=kind,
            workers=self._count("workers"),
            adapt=self._adapt(),
            memory=memory,
            together=self._count(together) or 1,
            hosts=self._hosts() if kind == SSH else (),
            options=self._options(),
            environment=self._environment(),
            dask=dotted(self._mapping("dask")),
        )
        if kind in QUEUES:
            self._check_numbers(found)
        return found

    def _fail(self, key: str, what: str) -> NoReturn:
        line = self._lines.get(str(key).split(".")[0], 1)
        raise InputError(f"{self._name}:{line}: {key}: {what}")

    def _memory(self) -> int | None:
        from dask.utils import parse_bytes

        size = self._values.get("memory")
        if size is None:
            return None
        try:
            found = int(parse_bytes(size)) if isinstance(size, str) else 0
        except ValueError:
            found = 0
        if found <= 0:
            self._fail("memory", f"must be a size like 800MB or 4GiB, got {size!r}")
        return found

    def _count(
        self, key: str, within: Mapping[str, Any] | None = None, least: int = 1
    ) -> int | None:
        found = (self._values if within is None else within).get(key)
        name = key if within is None else f"adapt.{key}"
        if found is None:
            return None
        if not isinstance(found, int) or isinstance(found, bool) or found < least:
            self._fail(name, f"must be a whole number of at least {least}, got {found!r}")
        return found

    def _mapping(self, key: str) -> dict[str, Any]:
        found = self._values.get(key)
        if found is None:
            return {}
        if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
            self._fail(key, f"must be names with values, got {found!r}")
        return found

    def _adapt(self) -> tuple[int, int] | None:
        if "adapt" not in self._values:
            return None
        found = self._mapping("adapt")
        minimum, maximum = self._count("minimum", found, 0), self._count("maximum", found)
        if minimum is None or maximum is None or len(found) != 2:
            self._fail("adapt", "give minimum and maximum, numbers of workers")
        if minimum > maximum:
            self._fail("adapt", f"minimum {minimum} is more than maximum {maximum}")
        return minimum, maximum

    def _hosts(self) -> tuple[str, ...]:
        found = self._values.get("hosts")
        if (
            not isinstance(found, list)
            or len(found) < 2
            or not all(isinstance(host, str) and host for host in found)
        ):
            self._fail("hosts", "give a list: the scheduler's host, then one or more for workers")
        return tuple(found)

    def _options(self) -> dict[str, Any]:
        found = self._mapping("options")
        for name in found:
            if name in GIVEN_BY:
                self._fail(
                    f"options.{name}", f"is given by the file's {GIVEN_BY[name]}; leave it out"
                )
            if name in NOT_OURS:
                self._fail(f"options.{name}", "cannot be set in a cluster file; leave it out")
        return found

    def _environment(self) -> dict[str, str]:
        found = self._mapping("environment")
        for name, value in found.items():
            if not VARIABLE.fullmatch(name):
                self._fail(f"environment.{name}", "is not a valid name of a variable")
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                self._fail(f"environment.{name}", f"must be text, got {value!r}; put it in quotes")
        return {name: str(value) for name, value in found.items()}

    def _check_numbers(self, found: ClusterFile) -> None:
        """Raise an error for numbers of workers that are not multiples of those of a job."""
        if (found.workers is None) == (found.adapt is None):
            self._fail("kind", f"{found.kind} needs either workers or adapt")
        key = "workers" if found.adapt is None else "adapt"
        for number in found.adapt or (found.workers or 1,):
            if number % found.together:
                self._fail(
                    key, f"must be a multiple of workers_per_job, {found.together}, got {number}"
                )


def dotted(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return the leaves of nested settings by dotted names."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        path = f"{above}{name}"
        found |= dotted(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found
