"""The URLs that are opened: listed protocols, one at a time.

A run folder, a pipeline file or a data set may come from somebody else. fsspec opens many protocols
that run code or read other files (``reference::``, ``simplecache::``, ``zip://``, ``github://``,
...); all protocols that are not listed are refused before fsspec sees them.
"""

from __future__ import annotations

from dcsvm_dask.errors import InputError
from dcsvm_dask.masking import has_credentials, masked

STORES = ("s3", "gs", "gcs", "abfs", "abfss", "az", "memory")
"""Protocols of places for reading and writing; ``file`` is a local path."""
WEB = ("http", "https")
"""Protocols of places for reading only."""


def is_url(text: str) -> bool:
    """Return whether a text is a URL, not a local path."""
    return "://" in text


def is_web(text: str) -> bool:
    """Return whether a text is a web server's URL, which can only be read."""
    return text.partition("://")[0] in WEB and is_url(text)


def check_url(url: str) -> None:
    """Raise an error for a URL that may not be opened.

    Raises
    ------
    InputError
        If its protocol is not listed, or it is a chain of several.
    """
    protocol, shown = url.partition("://")[0], masked(url)
    if "::" in url:
        raise InputError(f"{shown!r:.200}: chained URLs (with ::) are not opened; give a plain one")
    if protocol not in (*STORES, *WEB, "file"):
        known = ", ".join(("file", *STORES, *WEB))
        raise InputError(
            f"{shown!r:.200}: protocol {protocol!r:.40} is not opened; give a local path or one of "
            f"{known}"
        )


def check_place(url: str) -> None:
    """Raise an error for a URL that cannot be a folder: of another protocol, or with credentials in
    it.

    Addresses of data sets and runs are stored and shown, and names of objects are appended to them.

    Raises
    ------
    InputError
        If it cannot.
    """
    check_url(url)
    if has_credentials(url):
        raise InputError(
            f"{url}: a data set or a run has no password or query in its address; give "
            "credentials as the store's client expects them, for example in the environment"
        )


def check_writable(url: str) -> None:
    """Raise an error for a place that is read only.

    Raises
    ------
    InputError
        If the URL is a web server's.
    """
    if is_web(url):
        raise InputError(f"{url}: a web server is read only; give a folder or an object store")
