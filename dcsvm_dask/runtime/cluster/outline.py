"""A description of the cluster that a file would start."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

from dcsvm_dask.runtime.capacity import memory_of_workers
from dcsvm_dask.runtime.cluster.file import (
    LOCAL,
    SSH,
    ClusterFile,
    foreign_command,
    read_cluster,
    read_documents,
)
from dcsvm_dask.runtime.cluster.kinds import (
    WORKER_OPTIONS,
    exported,
    job_script,
    scheme,
    settings,
    ssh_arguments,
)


def outline(name: str) -> str:
    """Return a description of a cluster file, or of a file for kubectl or Docker Compose.

    Raises
    ------
    InputError
        If the file is none of these, or is not valid.
    """
    documents = read_documents(name)
    command = foreign_command(name, documents)
    if command is not None:
        return "\n".join([*_foreign(documents), "", "Start it with:", f"  {command}"])
    file = read_cluster(name)
    settings(file)
    how = {LOCAL: _local, SSH: _ssh}.get(file.kind, _queue)
    return "\n".join([*how(file), "", "Train on it with:", f"  dcsvm train ... --cluster {name}"])


def _local(file: ClusterFile) -> Iterator[str]:
    workers = file.workers or os.cpu_count() or 1
    memory = file.memory or memory_of_workers(None, workers)
    yield f"{file.name} would start {workers} worker process(es) on this machine,"
    yield f"each with 1 thread and {_size(memory)}."
    yield ""
    yield "Dask's configuration:"
    yield from (f"  {name} = {value}" for name, value in settings(file).items())


def _ssh(file: ClusterFile) -> Iterator[str]:
    head, *hosts = file.hosts
    arguments = ssh_arguments(file)
    python = file.options.get("remote_python")
    dask = f"{python[0] if isinstance(python, list) else python or 'python'} -m dask"
    folder = arguments["worker_options"].get("local_directory")
    protocol = scheme(file)
    scheduler = ["scheduler", "--protocol", protocol, "--dashboard-address"]
    scheduler.append(arguments["scheduler_options"]["dashboard_address"])
    worker = [
        "worker",
        f"{protocol}://{head}:8786",
        "--nthreads",
        "1",
        "--nworkers",
        str(file.together),
    ]
    worker += ["--memory-limit", str(file.memory), *WORKER_OPTIONS]
    worker += ["--local-directory", str(folder)] if folder else []
    yield f"{file.name} would start over SSH a scheduler on {head}, and on each of"
    yield f"{', '.join(hosts)} {file.together} worker(s) with 1 thread and {_size(file.memory)}."
    yield ""
    yield "The same by hand, on every host:"
    yield from (f"  export {name}={value}" for name, value in exported(file).items())
    yield f"by `ssh {head}`:"
    yield f"  {dask} {shlex.join(scheduler)}"
    for host in hosts:
        yield f"by `ssh {host}`:"
        yield f"  {dask} {shlex.join(worker)}"


def _queue(file: ClusterFile) -> Iterator[str]:
    low, high = (number // file.together for number in file.adapt or (file.least, file.least))
    jobs = f"{low} job(s)" if low == high else f"{low} to {high} job(s), as the tasks need,"
    yield f"{file.name} would submit {jobs} of {file.together} worker(s)"
    yield f"to {file.kind}, each worker with 1 thread and {_size(file.memory)}."
    yield "The script of a job:"
    yield ""
    yield job_script(file).rstrip()


def _size(n_bytes: int | None) -> str:
    from dask.utils import format_bytes

    return f"{format_bytes(n_bytes or 0)} of memory"


def _foreign(documents: list[Any]) -> Iterator[str]:
    """Summarise the resources of a manifest or the services of a Compose file."""
    for document in documents:
        if not isinstance(document, dict):
            continue
        if "services" in document:
            for name, service in document["services"].items():
                yield from _container(f"service {name}", service, service.get("deploy", {}))
            continue
        spec = document.get("spec", {})
        title = f"{document.get('kind')} {document.get('metadata', {}).get('name')}"
        if "minimum" in spec:
            yield f"{title}: {spec['minimum']} to {spec['maximum']} workers of {spec['cluster']}"
        for part in ("scheduler", "worker"):
            for container in spec.get(part, {}).get("spec", {}).get("containers", []):
                yield from _container(f"{title}, {part}", container, spec[part])


def _container(title: str, container: Any, scale: Any) -> Iterator[str]:
    """Describe a container: its replicas, image, limits and command."""
    replicas = f", {scale['replicas']} of them" if "replicas" in scale else ""
    yield f"{title}{replicas}: image {container.get('image', 'built here')}"
    limits = container.get("resources", scale.get("resources", {})).get("limits", {})
    if limits:
        yield "  limits " + ", ".join(f"{name} {value}" for name, value in limits.items())
    words = container.get("args") or container.get("command")
    if words:
        yield f"  {words if isinstance(words, str) else ' '.join(map(str, words))}"
