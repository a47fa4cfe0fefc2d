"""A limit for the size of files, which fails as a full disk does: without the name of a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def smaller_files(most: int) -> Iterator[None]:
    """Let this process write no file of more than so many bytes."""
    resource = pytest.importorskip("resource", reason="the system has no limits of processes")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
