"""Worker processes that import the script which starts them."""

from __future__ import annotations

import multiprocessing
import sys

GUARD = (
    "worker processes import the script that starts them, so in a script train below "
    'if __name__ == "__main__":, or in this process alone by workers=0'
)


def refuse_in_child() -> None:
    """Exit from a worker process that is still importing the user's script.

    It raises `SystemExit`, which no ``except Exception`` of the script catches.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        # Of a fork nobody prints what an exit says.
        sys.stderr.write(f"dcsvm_dask: {GUARD}\n")
        sys.stderr.flush()
        raise SystemExit(1)
