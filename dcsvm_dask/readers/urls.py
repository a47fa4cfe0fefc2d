"""Which URLs are opened: protocols on a list, one at a time, whoever named the URL.

A run folder, a pipeline file or a data set may come from somebody else. fsspec opens many things
that run code or read what nobody meant (``reference::``, ``simplecache::``, ``zip://``,
``github://``, ...); what is not on the list is refused before fsspec sees it.
"""

from __future__ import annotations

from dcsvm_dask.errors import InputError
from dcsvm_dask.masking import has_credentials, masked

STORES = ("s3", "gs", "gcs", "abfs", "abfss", "az", "memory")
"""Protocols of places that are read and written; ``file`` is a local path."""
WEB = ("http", "https")
"""Protocols of places that are read only."""


def is_url(text: str) -> bool:
    """Whether this is a URL and no local path."""
    return "://" in text


def is_web(text: str) -> bool:
    """Whether this is a web server's URL, which can only be read."""
    return text.partition("://")[0] in WEB and is_url(text)


def check_url(url: str) -> None:
    """Refuse a URL that is not opened here.

    Raises
    ------
    InputError
        If its protocol is not on the list, or it is a chain of several.
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
    """Refuse a URL that cannot be a folder: of another protocol, or with credentials in it.

    Addresses of data sets and runs are stored and shown, and names of objects are put behind them.

    Raises
    ------
    InputError
        If it cannot.
    """
    check_url(url)
    if has_credentials(url):
        raise InputError(
            f"{url}: a data set or a run has no password or query in its address; give "
            "credentials as the store's client takes them, for example in the environment"
        )


def check_writable(url: str) -> None:
    """Refuse to write where one can only read.

    Raises
    ------
    InputError
        If the URL is a web server's.
    """
    if is_web(url):
        raise InputError(f"{url}: a web server is read only; name a folder or an object store")
