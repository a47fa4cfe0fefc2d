"""Training on hosts that are reached by SSH: here both are this one, by a server of asyncssh."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncssh
import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import RunError
from tests.marks import soak
from tests.small_run import WORDS

FILE = """kind: ssh
hosts: [127.0.0.1, 127.0.0.1]
workers_per_host: 2
memory: 1GiB
environment: {{NUMBA_CACHE_DIR: {cache}}}
options:
  connect_options: {{port: {port}, known_hosts: null, username: x, client_keys: null}}
  worker_options: {{local_directory: {folder}}}
"""
TLS = """dask:
  distributed.comm.require-encryption: true
  distributed.comm.tls.ca-file: {0}/authority.pem
  distributed.comm.tls.scheduler: {{cert: {0}/scheduler.pem, key: {0}/scheduler-key.pem}}
  distributed.comm.tls.worker: {{cert: {0}/worker.pem, key: {0}/worker-key.pem}}
  distributed.comm.tls.client: {{cert: {0}/client.pem, key: {0}/client-key.pem}}
"""
CERTIFICATES = Path(__file__).parents[3] / "cluster" / "certificates.sh"


class Host:
    """An SSH server that lets everybody in, on loopback, in a thread of its own."""

    def __init__(self) -> None:
        self.port = 0
        self.processes: list[subprocess.Popen[bytes]] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._ready.wait(30)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.run_forever()
        self._loop.close()

    async def _serve(self) -> None:
        class Open(asyncssh.SSHServer):  # type: ignore[misc]
            def begin_auth(self, username: str) -> bool:
                return False

        self._server = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=Open,
            server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            process_factory=self._handle,
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._ready.set()

    async def _handle(self, process: Any) -> None:
        started = subprocess.Popen(
            process.command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.processes.append(started)
        await process.redirect(stdout=started.stdout, stderr=started.stderr)
        while started.poll() is None:
            await asyncio.sleep(0.05)
        process.exit(started.returncode)

    def close(self) -> None:
        async def stop() -> None:
            self._server.close()
            await self._server.wait_closed()
            self._loop.stop()

        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
        asyncio.run_coroutine_threadsafe(stop(), self._loop)
        self._thread.join(30)


@pytest.fixture
def host() -> Iterator[Host]:
    found = Host()
    yield found
    found.close()


@pytest.mark.long
@pytest.mark.parametrize("protocol", [soak("tcp"), "tls"])
def test_hosts_reached_by_ssh_train_and_are_left_as_they_were(
    protocol: str,
    host: Host,
    cache: str,
    command: Callable[..., Any],
    small: Path,
    tmp_path: Path,
    undisturbed: api.Run,
    look: Any,
) -> None:
    file = tmp_path / "ssh.yaml"
    text = FILE.format(cache=cache, port=host.port, folder=tmp_path)
    if protocol == "tls":
        if shutil.which("openssl") is None:
            pytest.skip("needs openssl")
        made = tmp_path / "certificates"
        subprocess.run(["sh", CERTIFICATES, made], check=True, capture_output=True)
        text += TLS.format(made)
    file.write_text(text)
    train = command("train", small, "--run", tmp_path / "run", "--cluster", file, *WORDS)
    assert train.wait() == 0, train.said
    assert f"scheduler {protocol}://" in train.said
    assert "dashboard http://127.0.0.1:" in train.said
    run = api.open_run(tmp_path / "run")
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    end = time.monotonic() + 120
    while any(process.poll() is None for process in host.processes):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_host_that_does_not_answer_is_one_sentence(
    cache: str, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    file = tmp_path / "ssh.yaml"
    file.write_text(FILE.format(cache=cache, port=1, folder=tmp_path))
    with pytest.raises(RunError, match=r"ssh.yaml: the cluster did not start: .*Connect"):
        train(execution=api.Execution(cluster=file))
