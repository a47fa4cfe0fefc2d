"""Processes that stand for those of other hosts: in host name and process namespaces of their own.

They see the same folders, but not each other's processes by number.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pytest

UNSHARE = [
    *("unshare", "--map-root-user", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"),
    *("sh", "-c", 'hostname "$0" && exec "$@"'),
]


@lru_cache(maxsize=1)
def _refused() -> str:
    try:
        tried = subprocess.run([*UNSHARE, "probe", "true"], capture_output=True, text=True)
    except FileNotFoundError as error:
        return str(error)
    return tried.stderr.strip() if tried.returncode else ""


def require_namespaces() -> None:
    """Skip a test where this user may not make namespaces."""
    if refused := _refused():
        pytest.skip(f"namespaces of one's own are refused here: {refused}")


def on_host(
    name: str, script: str, arguments: Sequence[object], **how: Any
) -> subprocess.Popen[str]:
    """Start a Python script as on a host of that name."""
    words = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen([*UNSHARE, name, *words], **how)
