"""Who gets into a local cluster: its own processes, nobody else on the machine."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.cluster.connect import local_cluster
from dcsvm_dask.runtime.events import Notice


class Heard(Callback):
    """Keep what is said, and the client of the cluster."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.client: Any = None

    def on_client(self, client: Any) -> None:
        self.client = client

    def on_notice(self, event: Notice) -> None:
        self.said.append(event.text)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def client(heard: Heard) -> Iterator[Any]:
    """Give the client of a local cluster of one worker."""
    with local_cluster(1, 1 << 30, Announcer("run", [heard]), {}):
        yield heard.client


def welcomed(port: int) -> bool:
    """Return whether Dask talks to who comes without a certificate."""
    with socket.create_connection(("127.0.0.1", port), 30) as bare:
        bare.sendall(bytes(64))
        try:
            return bare.recv(64)[:1] not in (b"", b"\x15")  # the end, an alert of TLS
        except ConnectionResetError:
            return False


@pytest.mark.long
def test_every_process_needs_the_certificate_of_this_cluster(client: Any, heard: Heard) -> None:
    from distributed import Security

    worker = next(iter(client.scheduler_info()["workers"].values()))
    addresses = [client.scheduler.address, worker["nanny"], *client.nthreads()]
    assert len(addresses) == 3
    assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
    assert client.submit(sum, [1, 2]).result() == 3
    foreign = Security.temporary().get_connection_args("client")["ssl_context"]
    for address in addresses:
        port = int(address.rsplit(":", 1)[1])
        assert not welcomed(port)
        other = socket.create_connection(("127.0.0.1", port), 30)
        with other, pytest.raises(ssl.SSLError):
            foreign.wrap_socket(other)
    assert heard.said == []


def test_all_that_listens_does_so_on_loopback(client: Any) -> None:
    """The dashboard among them: plain HTTP, to be looked at by who is on the machine."""
    own = psutil.Process()
    found = [
        one.laddr.ip
        for process in (own, *own.children(recursive=True))
        for one in process.net_connections()
        if one.status == psutil.CONN_LISTEN
    ]
    assert len(found) >= 4
    assert set(found) == {"127.0.0.1"}


@pytest.mark.long
def test_where_there_are_no_certificates_the_user_is_warned(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "cryptography" else find(name, *rest),
    )
    with local_cluster(1, 1 << 30, Announcer("run", [heard]), {}):
        address = heard.client.scheduler.address
        assert address.startswith("tcp://127.0.0.1:")
        assert welcomed(int(address.rsplit(":", 1)[1]))
    assert "can run code as you: `pip install cryptography`" in heard.said[0]


SCRIPT = Path(__file__).parents[3] / "cluster" / "certificates.sh"


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path / "certs"
    subprocess.run(["sh", str(SCRIPT), str(folder)], check=True, capture_output=True)
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    return folder


@pytest.fixture
def secured(certificates: Path, dask_cluster: Any) -> str:
    """Give the address of a cluster whose processes speak TLS alone."""

    def words(who: str) -> list[str]:
        ca, cert, key = ("authority.pem", f"{who}.pem", f"{who}-key.pem")
        return [
            *("--tls-ca-file", str(certificates / ca)),
            *("--tls-cert", str(certificates / cert), "--tls-key", str(certificates / key)),
        ]

    address, _ = dask_cluster.start(
        1, scheduler=["--protocol", "tls", *words("scheduler")], worker=words("worker")
    )
    assert address.startswith("tls://")
    return address


@pytest.mark.long
def test_who_holds_a_certificate_trains_and_nobody_else_gets_in(
    secured: str,
    certificates: Path,
    train: Callable[..., api.Run],
    undisturbed: api.Run,
    look: Any,
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=f"{secured} uses TLS: set a certificate"):
        train(run=tmp_path / "refused", execution=api.Execution(scheduler=secured))
    assert not (tmp_path / "refused").exists()
    tls = "distributed.comm.tls"
    held = {
        f"{tls}.ca-file": str(certificates / "authority.pem"),
        f"{tls}.client.cert": str(certificates / "client.pem"),
        f"{tls}.client.key": str(certificates / "client-key.pem"),
    }
    with dask.config.set(held):
        run = train(execution=api.Execution(scheduler=secured))
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    foreign = tmp_path / "foreign"
    subprocess.run(["sh", str(SCRIPT), str(foreign)], check=True, capture_output=True)
    others = {name: path.replace(str(certificates), str(foreign)) for name, path in held.items()}
    with (
        dask.config.set(others),
        pytest.raises(InputError, match=f"no Dask scheduler answers at {secured}"),
    ):
        train(run=tmp_path / "refused", execution=api.Execution(scheduler=secured))
