"""The certificates that `cluster/certificates.sh` makes: what each is for, and where they lie."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "cluster" / "certificates.sh"
WHO = ("scheduler", "worker", "client")
PURPOSES = {
    ("scheduler", "sslserver"): True,
    ("scheduler", "sslclient"): True,
    ("worker", "sslserver"): True,
    ("worker", "sslclient"): True,
    ("client", "sslserver"): False,
    ("client", "sslclient"): True,
}
DASK = """
import asyncio, sys
from distributed import Client, Scheduler, Security, Worker

folder = sys.argv[1]
files = {f"tls_{who}_{what}": f"{folder}/{who}{end}" for who in ("scheduler", "worker", "client")
         for what, end in (("cert", ".pem"), ("key", "-key.pem"))}
good = Security(tls_ca_file=f"{folder}/authority.pem", require_encryption=True, **files)
posing = Security(tls_ca_file=f"{folder}/authority.pem", require_encryption=True, **{
    **files, "tls_scheduler_cert": f"{folder}/client.pem",
    "tls_scheduler_key": f"{folder}/client-key.pem"})

def scheduler(security):
    return Scheduler(protocol="tls", host="127.0.0.1", port=0, security=security, dashboard=False)

async def main():
    async with scheduler(good) as known, Worker(known.address, security=good, nthreads=1):
        async with Client(known.address, security=good, asynchronous=True) as client:
            print("sum", await client.submit(sum, [1, 2]))
    async with scheduler(posing) as other:
        try:
            async with Client(other.address, security=good, asynchronous=True, timeout="2s"):
                print("let in")
        except OSError as error:
            print("refused")

asyncio.run(main())
"""
HANDSHAKE = """
import ssl, sys

def context(purpose, who):
    made = ssl.create_default_context(purpose, cafile=f"{sys.argv[1]}/authority.pem")
    made.load_cert_chain(f"{sys.argv[1]}/{who}.pem", f"{sys.argv[1]}/{who}-key.pem")
    made.check_hostname, made.verify_mode = False, ssl.CERT_REQUIRED
    assert made.verify_flags & ssl.VERIFY_X509_STRICT
    return made

def accepts(server, client):
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [context(ssl.Purpose.SERVER_AUTH, client).wrap_bio(to_client, to_server),
            context(ssl.Purpose.CLIENT_AUTH, server).wrap_bio(to_server, to_client, True)]
    try:
        for _ in range(3):
            for end in ends:
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    pass
        ends[0].write(b"x")
        return ends[1].read(1) == b"x"
    except ssl.SSLError:
        return False

for server in ("scheduler", "worker", "client"):
    for client in ("scheduler", "worker", "client"):
        print(server, client, accepts(server, client))
"""


def make(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(SCRIPT), *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    found = tmp_path_factory.mktemp("certificates") / "made"
    done = make(found, "10.0.0.5", "node0.example.org")
    assert done.returncode == 0, done.stderr
    return found


def openssl(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)


def python_3_13() -> str:
    """Return a Python 3.13; the test skips where there is none."""
    named = os.environ.get("DCSVM_PYTHON_3_13")
    known = Path.home().glob(".pyenv/versions/3.13*/bin/python3.13")
    for one in (named, sys.executable, shutil.which("python3.13"), *map(str, known)):
        if one is None:
            continue
        asked = [one, "-c", "import sys; print(*sys.version_info[:2])"]
        if subprocess.run(asked, capture_output=True, text=True).stdout.strip() == "3 13":
            return one
    pytest.skip("needs Python 3.13: on PATH, under ~/.pyenv, or named by DCSVM_PYTHON_3_13")


@pytest.mark.parametrize(("who", "purpose"), PURPOSES)
def test_each_is_strictly_valid_for_what_it_is_for(who: str, purpose: str, folder: Path) -> None:
    words = ("-x509_strict", "-purpose", purpose, "-CAfile", folder / "authority.pem")
    done = openssl("verify", *words, folder / f"{who}.pem")
    assert (done.returncode == 0) is PURPOSES[who, purpose], done.stderr


def test_what_stands_in_them(folder: Path) -> None:
    def text(name: str) -> str:
        return " ".join(openssl("x509", "-noout", "-text", "-in", folder / name).stdout.split())

    authority = text("authority.pem")
    assert "Version: 3" in authority
    assert "X509v3 Basic Constraints: critical CA:TRUE, pathlen:0" in authority
    assert "X509v3 Key Usage: critical Certificate Sign, CRL Sign" in authority
    for who in WHO:
        found = text(f"{who}.pem")
        assert "Version: 3" in found
        assert "X509v3 Basic Constraints: critical CA:FALSE" in found
        assert "X509v3 Key Usage: critical Digital Signature" in found
        assert f"DNS:dcsvm-{who}" in found
        assert "X509v3 Authority Key Identifier" in found
        assert ("TLS Web Server Authentication" in found) is (who != "client")
        assert "TLS Web Client Authentication" in found
    assert "DNS:dcsvm-scheduler, IP Address:10.0.0.5, DNS:node0.example.org" in text(
        "scheduler.pem"
    )


def test_nobody_else_may_read_them_and_an_authority_is_not_replaced(folder: Path) -> None:
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))
    kinds = [f"{who}{end}.pem" for who in ("authority", *WHO) for end in ("", "-key")]
    assert sorted(path.name for path in folder.iterdir()) == sorted(kinds)
    before = (folder / "authority-key.pem").read_bytes()
    assert make(folder).returncode == 2
    assert (folder / "authority-key.pem").read_bytes() == before


def test_they_are_made_outside_of_the_checkout(tmp_path: Path) -> None:
    if shutil.which("openssl") is None or shutil.which("git") is None:
        pytest.skip("needs openssl and git")
    done = make(XDG_CONFIG_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "dcsvm" / "certificates" / "authority-key.pem").exists()
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "init", "--quiet", checkout], check=True)
    done = make(checkout / "certs")
    assert (done.returncode, "lies in a Git checkout" in done.stderr) == (2, True)
    assert [path.name for path in checkout.iterdir()] == [".git"]


def test_python_3_13_accepts_them_as_it_checks_by_default(folder: Path) -> None:
    words = [python_3_13(), "-c", HANDSHAKE, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    expected = [f"{server} {client} {server != 'client'}" for server in WHO for client in WHO]
    assert done.stdout.splitlines() == expected


@pytest.mark.one_quick
@pytest.mark.parametrize("python", ["this", "3.13"])
def test_dask_works_with_them_and_a_client_cannot_pose_as_the_scheduler(
    python: str, folder: Path, tmp_path: Path
) -> None:
    chosen = sys.executable if python == "this" else python_3_13()
    found = subprocess.run([chosen, "-c", "import distributed"], capture_output=True)
    if found.returncode:
        pytest.skip(f"{chosen} has no Dask; name one that has by DCSVM_PYTHON_3_13")
    words = [chosen, "-c", DASK, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.stdout.splitlines() == ["sum 3", "refused"], done.stderr


@pytest.mark.parametrize("left", ["authority.pem", "client-key.pem"])
def test_nothing_that_is_there_is_replaced(left: str, tmp_path: Path) -> None:
    (tmp_path / left).write_text("of another authority, whose key was moved away\n")
    found = subprocess.run(
        ["sh", str(SCRIPT), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert f"has {left} already; name another folder" in found.stderr
    assert [path.name for path in tmp_path.iterdir()] == [left]
    assert (tmp_path / left).read_text().startswith("of another")


def test_files_of_others_stay_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "openssl.cnf").write_text("mine")
    subprocess.run(["sh", str(SCRIPT), str(tmp_path)], capture_output=True, check=True)
    assert (tmp_path / "openssl.cnf").read_text() == "mine"
    names = {f"{who}{end}.pem" for who in ("authority", *WHO) for end in ("", "-key")}
    assert {path.name for path in tmp_path.iterdir()} == names | {"openssl.cnf"}
