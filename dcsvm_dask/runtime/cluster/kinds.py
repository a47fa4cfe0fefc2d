"""The arguments of the classes that start clusters over SSH and by queues."""

from __future__ import annotations

import importlib
import json
import logging
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.cluster.connect import DASHBOARD_PORT, SPAWNED_WITH, dashboard_port
from dcsvm_dask.runtime.cluster.file import LOCAL, SSH, ClusterFile, dotted
from dcsvm_dask.runtime.preload import MODULE

SETTINGS = Path(__file__).parents[1] / "dask.yaml"
PRELOAD = "distributed.nanny.preload"
ENCRYPTION = "distributed.comm.require-encryption"
CACHE = "NUMBA_CACHE_DIR"
LOOPBACK = "127.0.0.1"
WORKER_PAGES = f"{LOOPBACK}:0"
WORKER_OPTIONS = ("--dashboard-address", WORKER_PAGES, "--preload-nanny", MODULE)
"""Options of `dask worker`, which ignores the setting distributed.nanny.preload."""
CONNECT_SECONDS = 20
START_SECONDS = 600
"""Seconds in which a queue's worker must find its scheduler and compile."""
HERE = ("distributed.scheduler.", "distributed.adaptive.", "distributed.deploy.")
"""Prefixes of settings of the scheduler, which in a queue's cluster is in this process."""
OF_BOTH = ("interface", "protocol", "config_name")
"""Options that a queue's cluster passes on to its jobs."""
CLASSES = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
    "htcondor": "HTCondorCluster",
}


def check(file: ClusterFile) -> None:
    """Raise an error if no cluster can be started from a file here, before anything is started.

    Raises
    ------
    InputError
        If a package or the queue's command is absent, or a setting is unknown.
    """
    settings(file)
    if file.kind == SSH:
        _require("asyncssh", file)
    elif file.kind != LOCAL:
        job_script(file)
        command = str(_queue_class(file).job_cls.submit_command).split()[0]
        if shutil.which(command) is None:
            raise InputError(
                f"{file.name}: the command {command} is not installed here; start the run where "
                f"jobs of {file.kind} are submitted"
            )


def settings(file: ClusterFile) -> dict[str, Any]:
    """Return Dask's settings for a cluster, by dotted name.

    Raises
    ------
    InputError
        If Dask has no setting of a name.
    """
    import dask
    import distributed  # noqa: F401  its settings

    absent = object()
    for name in file.dask:
        if dask.config.get(name, absent) is absent:
            raise InputError(f"{file.name}: dask: {name} is not a setting of Dask's configuration")
    ours = yaml.safe_load(SETTINGS.read_text(encoding="utf-8"))
    spawned = {f"{SPAWNED_WITH}.{name}": value for name, value in file.environment.items()}
    found = {**dotted(ours), **file.dask, **spawned}
    if file.kind == LOCAL:  # its workers share what this process has compiled
        found.pop(PRELOAD)
    return found


def create(file: ClusterFile) -> Any:
    """Start a cluster's scheduler, and its workers where their hosts are known."""
    if file.kind == SSH:
        from distributed import SSHCluster

        return SSHCluster(**ssh_arguments(file))
    return _queue_class(file)(**queue_arguments(file))


def ask_for_workers(cluster: Any, file: ClusterFile) -> None:
    """Submit a queue's first jobs, and more jobs when workers are needed.

    A fixed number of workers is maintained, too: jobs end after their time, workers with their
    host.
    """

    async def submit() -> None:
        cluster.scale(file.least)
        await cluster._correct_state()  # raises the error of the submission

    cluster.sync(submit)
    minimum, maximum = file.adapt or (file.least, file.least)
    more = {"worker_key": job_of} if file.together > 1 else {}
    cluster.adapt(minimum=minimum, maximum=maximum, **more)


def dashboard(file: ClusterFile, link: str) -> str:
    """Return the address of the dashboard.

    Dask's `link` does not name the loopback interface, on which the dashboard may be.
    """
    arguments = ssh_arguments(file) if file.kind == SSH else queue_arguments(file)
    if not arguments["scheduler_options"]["dashboard_address"].startswith(LOOPBACK):
        return link
    on = f" on {file.hosts[0]}" if file.kind == SSH else ""
    return f"http://{LOOPBACK}:{urlsplit(link).port}/status{on}"


def job_of(worker: Any) -> str:
    """Return the job of a worker; the workers of a job start and end together."""
    return str(worker.name).rsplit("-", 1)[0]


def scheme(file: ClusterFile) -> str:
    """Return the protocol of processes that are started over SSH: "tls" or "tcp"."""
    return "tls" if settings(file).get(ENCRYPTION) else "tcp"


def ssh_arguments(file: ClusterFile) -> dict[str, Any]:
    """Return the keyword arguments of distributed's SSHCluster."""
    options = dict(file.options)
    return {
        "hosts": list(file.hosts),
        "connect_options": {
            "connect_timeout": CONNECT_SECONDS,
            **options.pop("connect_options", {}),
        },
        "scheduler_options": {
            "protocol": f"{scheme(file)}://",
            "dashboard_address": f"{LOOPBACK}:{DASHBOARD_PORT}",
            **options.pop("scheduler_options", {}),
        },
        "worker_options": {
            "dashboard_address": WORKER_PAGES,
            **options.pop("worker_options", {}),
            "nthreads": 1,
            "n_workers": file.together,
            "memory_limit": file.memory,
        },
        "silence_logs": logging.CRITICAL,
        **options,
    }


def queue_arguments(file: ClusterFile) -> dict[str, Any]:
    """Return the keyword arguments of a class of dask-jobqueue."""
    assert file.memory is not None
    options = dict(file.options)
    variables = exported(file, HERE)
    prologue = [f"export {name}={value}" for name, value in variables.items()]
    if (
        CACHE not in variables
    ):  # many queues pass on the submitter's value, whose folder may be shared
        prologue.insert(0, f"unset {CACHE}")
    return {
        "cores": file.together,
        "processes": file.together,
        "memory": f"{file.memory * file.together} B",
        "scheduler_options": {
            "dashboard_address": f"{LOOPBACK}:{dashboard_port()}",
            **options.pop("scheduler_options", {}),
        },
        "worker_extra_args": [
            *WORKER_OPTIONS,
            *options.pop("worker_extra_args", []),
        ],
        "job_script_prologue": [*prologue, *options.pop("job_script_prologue", [])],
        "death_timeout": START_SECONDS,
        "silence_logs": logging.CRITICAL,
        **options,
    }


def exported(file: ClusterFile, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Return `settings` as shell variables, without those whose names have one of some prefixes."""
    return {
        _variable(name): shlex.quote(json.dumps(value) if isinstance(value, list) else str(value))
        for name, value in settings(file).items()
        if not name.startswith(without)
    }


def job_script(file: ClusterFile) -> str:
    """Return the script of one job, without submitting it or starting a scheduler.

    Raises
    ------
    InputError
        If dask-jobqueue is absent or does not know an option.
    """
    queue, arguments = _queue_class(file), queue_arguments(file)
    if arguments.get("security"):  # whose certificates are made when the scheduler starts
        arguments["protocol"] = "tls://"
    of_cluster = signature(_require("dask_jobqueue", file).JobQueueCluster).parameters
    options = {
        name: value
        for name, value in arguments.items()
        if name not in of_cluster or name in OF_BOTH
    }
    logs = options.get("log_directory")
    try:
        with tempfile.TemporaryDirectory() as folder:
            if logs is not None:  # the folder is not needed, so it is not created
                options["log_directory"] = folder
            job = queue.job_cls("tcp://SCHEDULER:8786", name="dcsvm-0", **options)
            return str(job.job_script()).replace(folder, str(logs))
    except (TypeError, ValueError) as error:
        raise InputError(f"{file.name}: options: {str(error).split('.__init__() ')[-1]}") from error


def _queue_class(file: ClusterFile) -> Any:
    return getattr(_require("dask_jobqueue", file), CLASSES[file.kind])


def _require(module: str, file: ClusterFile) -> Any:
    try:
        with preserved_signals():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{file.name}: kind {file.kind} needs {module.replace('_', '-')}: "
            f"pip install {module.replace('_', '-')}"
        ) from error


@contextmanager
def preserved_signals() -> Iterator[None]:
    """Restore the signal handlers that importing dask-jobqueue 0.9 replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _variable(setting: str) -> str:
    """Return the environment variable of one of Dask's settings."""
    if setting.startswith(SPAWNED_WITH):
        return setting.removeprefix(f"{SPAWNED_WITH}.")
    return "DASK_" + setting.replace(".", "__").replace("-", "_").upper()
