"""What a training asks of an object store: requests by operation and by stage.

    python -m benchmarks.requests [--rows N] [--workers N]

Trains electricity (36,250 rows) against an S3 server of this machine that counts what it is asked,
and prints a table: one line a stage, one column an operation. Writes ``requests.json``.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import numpy as np

import dcsvm_dask.api as dcsvm
from benchmarks.datasets import SHARED
from benchmarks.runs import write
from dcsvm_dask.runtime.execution import Execution

BUCKET = "requests"
RUN = "run"
OPERATIONS = ("list", "get", "head", "put", "delete")
GAMMA, C = 64.0, 32.0
Counts = Counter[tuple[str, str]]
"""Requests by (stage, operation)."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=36_250)
    options.add_argument("--workers", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("requests.json"))
    chosen = options.parse_args()
    with counting_server() as server:
        data, run = f"s3://{BUCKET}/data.zarr", f"s3://{BUCKET}/{RUN}"
        ingest(chosen.rows, data)
        server.counts.clear()
        execution = Execution(workers=chosen.workers)
        dcsvm.train(data, run, execution=execution, quiet=True, report=False, gamma=GAMMA, C=C)
        counts = server.counts.copy()
    print(table(counts))
    write(chosen.out, {"rows": chosen.rows, "requests": nested(counts)})
    return 0


def ingest(rows: int, place: str) -> None:
    """Make the data set, features scaled to [0, 1]."""
    found = np.load(SHARED / "electricity.npz")
    dcsvm.ingest((found["X_train"][:rows], found["y_train"][:rows]), place, scale="minmax")


class CountingServer:
    """Takes the place of a server's application, and counts what passes.

    Parameters
    ----------
    application : callable
        A WSGI application that speaks S3's protocol.

    Attributes
    ----------
    counts : Counter
        Requests by stage and operation.
    """

    def __init__(self, application: Callable[..., Any]) -> None:
        self._application = application
        self._counting = threading.Lock()
        self.counts: Counts = Counter()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Count a request and pass it on."""
        asked = classified(
            environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        )
        with self._counting:
            self.counts[asked] += 1
        return self._application(environ, start_response)


def classified(method: str, path: str, query: str) -> tuple[str, str]:
    """Return the stage that a request is about (outside of stages: the folder), and its kind."""
    words = parse_qs(query, keep_blank_values=True)
    _, _, key = path.lstrip("/").partition("/")
    kind = method.lower()
    if kind == "get" and not key:
        kind, key = "list", words.get("prefix", [""])[0]
    elif kind == "post":
        kind = "delete" if "delete" in words else "put"
    found = re.search(r"/stages/([^/]+)", f"/{unquote(key)}")
    if found:
        return found[1], kind
    first, *below = key.split("/")
    return (first if first != RUN else below[0] if below and below[0] else "(run)"), kind


@contextmanager
def counting_server() -> Iterator[CountingServer]:
    """Open an S3 server on loopback with an empty bucket, which clients find by the environment."""
    import fsspec
    import s3fs
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):
        def log_request(self, *_: Any) -> None:
            pass

    server = CountingServer(DomainDispatcherApplication(create_backend_app))
    serving = make_server("127.0.0.1", 0, server, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    own = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{serving.server_port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        fsspec.filesystem("s3").makedirs(f"s3://{BUCKET}", exist_ok=True)
        server.counts.clear()
        yield server
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        serving.shutdown()
        thread.join()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def nested(counts: Counts) -> dict[str, dict[str, int]]:
    """Return counts as stage -> operation -> requests."""
    stages = sorted({stage for stage, _ in counts})
    return {
        stage: {kind: counts[stage, kind] for kind in OPERATIONS if counts[stage, kind]}
        for stage in stages
    }


def table(counts: Counts) -> str:
    """Return counts as a table, sums included."""
    lines = [line("stage", *OPERATIONS, "all")]
    for stage, kinds in nested(counts).items():
        each = [kinds.get(kind, 0) for kind in OPERATIONS]
        lines.append(line(stage, *each, sum(each)))
    each = [sum(n for (_, kind), n in counts.items() if kind == one) for one in OPERATIONS]
    return "\n".join([*lines, line("all", *each, counts.total())])


def line(first: str, *others: object) -> str:
    """Return a line of a table."""
    return f"{first:<22}" + "".join(f"{other:>8}" for other in others)


if __name__ == "__main__":
    sys.exit(main())
