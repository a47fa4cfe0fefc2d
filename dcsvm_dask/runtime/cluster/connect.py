"""Clusters: local processes, or a running scheduler, made ready for the tasks of a run."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import multiprocessing
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from dcsvm_dask import __version__
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.arrival import first_workers, in_words, wanted
from dcsvm_dask.runtime.capacity import memory_of_slots
from dcsvm_dask.runtime.caretaker import Caretaker, plugin_name
from dcsvm_dask.runtime.clients import check_client
from dcsvm_dask.runtime.executors import Executor, OnCluster
from dcsvm_dask.runtime.exits import report_exits
from dcsvm_dask.runtime.placement import workers_of
from dcsvm_dask.runtime.preload import allocation
from dcsvm_dask.runtime.topic import TOPIC, subscribed
from dcsvm_dask.runtime.watching import TOPICS, WorkerWatch
from dcsvm_dask.runtime.worker import BegunBy, PrepareWorker, installed
from dcsvm_dask.versions import RESULT_VERSION

Say = Callable[[str], None]
Workers = dict[str, dict[str, Any]]

CONNECT_SECONDS = 10
ENDING = (signal.SIGINT, signal.SIGTERM)
DASHBOARD_PORT = 8787
SPAWNED_WITH = "distributed.nanny.pre-spawn-environ"
QUIET_TRACKER = "ignore:resource_tracker"
OPEN_TO_ALL = (
    "the workers take connections from every user of this machine, who can run code as you: "
    "`pip install cryptography`, or use --workers 0"
)
GUARD = (
    "worker processes import the script that starts them, so in a script train below "
    'if __name__ == "__main__":, or in this process alone by workers=0'
)


@contextmanager
def local_cluster(
    workers: int,
    memory_limit: int,
    announcer: Announcer,
    settings: Mapping[str, Any],
    run: BegunBy | None = None,
) -> Iterator[Executor]:
    """Start a local cluster of processes with one thread each.

    Its connections need a certificate that is made for this cluster and lies in memory only, so
    that no other user of the machine gets in; see `temporary_security`.

    Parameters
    ----------
    settings : mapping
        Dask's configuration, dotted.
    run : BegunBy, optional
        The run that they are for.

    Raises
    ------
    RunError
        If the processes do not start.
    """
    import dask
    from distributed import Client, LocalCluster

    refuse_in_child()
    security = temporary_security()
    if security is None:
        announcer.say(OPEN_TO_ALL)
    with contextlib.ExitStack() as stack:
        try:
            how = {SPAWNED_WITH: allocation(memory_limit), **settings}
            stack.enter_context(dask.config.set(how))
            with uninterrupted(), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Port .* is already in use")
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=memory_limit,
                    security=security,
                    dashboard_address=f"127.0.0.1:{dashboard_port()}",
                    # What fails reaches the user as an error; what is done again needs no
                    # traceback.
                    silence_logs=logging.CRITICAL,
                )
                stack.enter_context(cluster)
                client = stack.enter_context(Client(cluster, set_as_default=False))
        except (RuntimeError, OSError, TimeoutError) as error:
            raise RunError(f"the local workers did not start ({error}); {GUARD}") from None
        description = f"{workers} local worker(s), dashboard {client.dashboard_link}"
        try:
            for nanny in cluster.workers.values():
                report_exits(nanny)
            plugin = PrepareWorker(shield=True, threads=workers, run=run)
            with prepared(client, announcer, plugin) as watch:
                yield OnCluster(client, announcer, description, None, watch)
        except KeyboardInterrupt:
            with uninterrupted():  # a second Ctrl-C would make it longer, not shorter
                kill_workers(cluster)
                stack.close()
            raise


def temporary_security() -> Any:
    """Return certificates for one local cluster, None where `cryptography` is not installed."""
    if importlib.util.find_spec("cryptography") is None:
        return None
    from distributed import Security

    return Security.temporary()


def kill_workers(cluster: Any) -> None:
    """Let the workers of a local cluster go at once: what they have not committed is done again.

    Asked to leave they would be waited for, several seconds, while their steps go on.
    """
    # Connections notice it on their own thread, at times when the cluster's silence has ended.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # it starts no other worker
        with contextlib.suppress(ProcessLookupError, TypeError):  # gone, or not there yet
            os.kill(nanny.pid, signal.SIGKILL)


def client_at(address: str) -> Any:
    """Open a client of a running scheduler.

    Raises
    ------
    InputError
        If nothing answers at the address.
    """
    from distributed import Client

    # Its own reports of a lost connection are tracebacks; that it is lost ends the run anyway.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} ({error}); "
            "start one by `dask scheduler` and give its address"
        ) from error
    except TypeError as error:  # what Dask raises without certificates
        raise InputError(
            f"the scheduler at {address} speaks TLS: name a certificate in Dask's configuration "
            "(distributed.comm.tls)"
        ) from error


@contextmanager
def connected(where: Any, patience: float, say: Say) -> Iterator[tuple[Any, Workers]]:
    """Give a client of a running scheduler that has workers of this version.

    Parameters
    ----------
    where : str or distributed.Client
        The scheduler's address, or a client of it, which is used as it is and stays open.
    patience : float
        Seconds to wait for a worker.
    say : callable
        Told that a worker is waited for.

    Yields
    ------
    client : distributed.Client
    workers : dict
        What the scheduler says of those that tasks may use; they may leave again.

    Raises
    ------
    InputError
        If nothing answers at the address, the client cannot be used here, no worker comes in time,
        or one lacks the package.
    """
    if isinstance(where, str):
        address, opened = where, client_at(where)
    else:
        check_client(where)
        address, opened = where.scheduler.address, contextlib.nullcontext(where)
    with opened as client:
        limit, which = in_words(patience), wanted()
        waiting = f"the scheduler at {address} has no worker{which} yet; waiting, at most {limit}"
        workers = first_workers(client, patience, lambda: say(waiting))
        if not workers:
            raise InputError(
                f"the scheduler at {address} had no worker{which} for {limit}; start some by "
                f"`dask worker {address}`, or wait longer (--wait)"
            )
        check_versions(client, address)
        yield client, workers


def address_in(file: str) -> str:
    """Return the address in a file that a scheduler wrote.

    Raises
    ------
    InputError
        If there is none, or it is no such file.
    """
    try:
        return str(json.loads(Path(file).read_text())["address"])
    except FileNotFoundError as error:
        raise InputError(
            f"{file}: there is no such file; `dask scheduler --scheduler-file {file}` writes it"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: is no file that a Dask scheduler wrote") from error


@contextmanager
def remote_cluster(
    where: Any, announcer: Announcer, patience: float, run: BegunBy | None = None
) -> Iterator[Executor]:
    """Attach to a running scheduler; see `connected`."""
    with connected(where, patience, announcer.say) as (client, workers):
        announcer.say("preparing the workers, which compile at their first run", doing=True)
        address = client.scheduler.address
        description = f"scheduler {address}, dashboard {client.dashboard_link}"
        with prepared(client, announcer, PrepareWorker(shield=False, run=run)) as watch:
            yield OnCluster(client, announcer, description, memory_of_slots(workers), watch)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Keep a Ctrl-C or SIGTERM until the end of the block: half a cluster cannot be closed.

    Processes that start inside are deaf to SIGINT for good; this one speaks for them.
    """
    came: list[int] = []

    def note(number: int, _: object) -> None:
        came.append(number)

    try:
        before = {number: signal.signal(number, note) for number in ENDING}
    except ValueError:  # not the main thread, which is the one that is interrupted
        yield
        return
    # It takes SIGINT off the mask when it starts, so it has to be there before. Of what killed
    # workers leave behind it would tell the user.
    sys.warnoptions.append(QUIET_TRACKER)
    resource_tracker.ensure_running()
    sys.warnoptions.remove(QUIET_TRACKER)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


def dashboard_port() -> int:
    """Return the port where people look for the dashboard, 0 (any) if something else has it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", DASHBOARD_PORT))
        except OSError:
            return 0
    return DASHBOARD_PORT


def check_versions(client: Any, address: str) -> None:
    """Refuse a cluster whose workers have another version of the package or of its results.

    Raises
    ------
    InputError
        With a worker and what it has.
    """
    found, used = client.run(installed, on_error="return"), workers_of(client)
    for worker, package in sorted(found.items()):
        if package == (__version__, RESULT_VERSION):
            continue
        # Every worker of a scheduler imports what is registered for those that a run uses.
        if worker not in used and not isinstance(package, ModuleNotFoundError):
            continue
        has = "no dcsvm_dask"
        if isinstance(package, tuple):
            has = f"dcsvm_dask {package[0]} with results of version {package[1]}"
        elif not isinstance(package, ModuleNotFoundError):
            has = "another dcsvm_dask"
        raise InputError(
            f"worker {worker} of the scheduler at {address} has {has}; install dcsvm_dask "
            f"{__version__}, whose results have the version {RESULT_VERSION}, on every worker"
        )


def refuse_in_child() -> None:
    """Leave a process that is a worker's, still importing the script that wants to train.

    It leaves at once, past any ``except Exception`` of the script, which would go on here.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(f"dcsvm_dask: {GUARD}")


def _tell_of_task(message: Any, announcer: Announcer) -> None:
    """Pass on what a worker says; what this process itself has told comes back, too."""
    if isinstance(message, dict) and "worker" in message and message.get("kind") != "silent":
        announcer.send(message)


@contextmanager
def prepared(client: Any, announcer: Announcer, plugin: PrepareWorker) -> Iterator[WorkerWatch]:
    """Prepare the workers of a cluster and pass on what is told there, and who is gone."""
    watch = WorkerWatch(announcer)
    # First: what workers say while they are prepared is to be heard.
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        enter(subscribed(client, TOPIC, lambda said: _tell_of_task(said, announcer)))
        for topic in TOPICS:
            enter(subscribed(client, topic, partial(watch.take, topic)))
        stack.callback(watch.flush)
        try:
            plugin.name = plugin_name(client.id)
            client.register_plugin(plugin)
            with contextlib.suppress(Exception):  # a scheduler without dcsvm_dask keeps no house
                client.register_plugin(Caretaker())
            announcer.attach(client)
            yield watch
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                client.unregister_worker_plugin(plugin.name)
