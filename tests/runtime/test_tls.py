"""Training over TLS, with certificates as `cluster/` makes them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError

pytestmark = pytest.mark.long
SCRIPT = Path(__file__).parents[2] / "cluster" / "certificates.sh"


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
