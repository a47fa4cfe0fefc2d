"""Passwords, signatures and control characters do not reach what is shown or stored."""

from __future__ import annotations

import pickle

import pytest
from click.testing import CliRunner

from dcsvm_dask.cli import main
from dcsvm_dask.errors import AccessError, InputError, RunError
from dcsvm_dask.masking import has_credentials, masked, printable

SIGNED = (
    "https://host/a/x.csv?X-Amz-Credential=AKIDSECRET%2F2026&X-Amz-Signature=SECRET",
    "https://account.blob.core.windows.net/c/x.csv?sv=2025&sig=SECRET%3D",
    "https://host/x.csv?token=SECRET#part",
    "https://user:SECRET@host:8443/x.csv",
    "https://SECRET@host/x.csv",
    "s3://AKID:SECRET@bucket/data.zarr",
    "abfs://container:SECRET@account.dfs.core.windows.net/data.zarr",
)


@pytest.mark.parametrize("url", SIGNED)
def test_what_signs_a_url_is_masked_wherever_it_stands(url: str) -> None:
    assert has_credentials(url)
    for text in (url, f"'{url}': no ({url}), again", f"403, message='Forbidden', url='{url}'"):
        assert "SECRET" not in masked(text)
        assert "***" in masked(text)
    assert masked(masked(url)) == masked(url)


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/data.zarr/train",
        "abfs://container@account.dfs.core.windows.net/data.zarr",
        "https://host/x.csv: row 3 (counted from 0): C=2, gamma=3",
        "tcp://10.0.0.5:8786",
        "/home/user@host/what?.csv: there is no such file",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_a_word_that_is_a_credential_is_masked_without_its_url() -> None:
    said = masked("GET /x.csv?X-Amz-Signature=SECRET&AWSAccessKeyId=SECRET refused (sig=SECRET)")
    assert "SECRET" not in said


@pytest.mark.parametrize("kind", [InputError, RunError, AccessError])
def test_no_error_shows_them_to_any_process(kind: type[Exception]) -> None:
    error = kind(f"{SIGNED[0]}: cannot be reached")
    assert str(error) == "https://host/a/x.csv?***: cannot be reached"
    assert "SECRET" not in repr(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, str(error))


def test_an_error_does_not_drive_the_terminal(tmp_path) -> None:
    found = CliRunner().invoke(main, ["info", str(tmp_path / "\x1b]0;owned\x07\x1b[2Jno.zarr")])
    assert found.exit_code == 2
    assert "\x1b" not in found.output
    assert r"\x1b]0;owned\x07" in found.output
    assert printable("a\tb\nc") == "a\tb\nc"
