"""Compare what two versions of the code train, bit for bit.

In the checkout of each version, with its own Python::

    python -m tests.compare_runs make FOLDER

trains small runs by every method and writes what they committed: for each run one file
``FOLDER/RUN.npz`` with all arrays of all nodes, the numbers of their records, models in the forms
of other programs, decision values and labels. They are read by the code that wrote them, so that
only names bind the versions. A version without this module has it by ``PYTHONPATH=CHECKOUT``, the
one of another version. Then::

    python -m tests.compare_runs compare BEFORE AFTER

prints a line for each run and each difference, and exits with status 1 if there is any. `CHANGES`
in `compare` says which arrays have another name or form in the newer version.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

from tests.compare_runs.compare import compare
from tests.compare_runs.make import make


def main(words: list[str] | None = None) -> int:
    """Make or compare; return the exit status."""
    parser = argparse.ArgumentParser(prog="compare_runs", description=__doc__.splitlines()[0])
    doing = parser.add_subparsers(dest="do", required=True)
    making = doing.add_parser("make", help="train runs with this version of the code")
    making.add_argument("folder", type=Path, help="does not exist yet")
    making.add_argument("--only", default="", metavar="WORD", help="runs whose names have it")
    comparing = doing.add_parser("compare", help="compare what two versions made")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args(words)
    if given.do == "compare":
        return min(1, compare(given.before, given.after))
    if given.folder.exists():
        parser.error(f"{given.folder} exists; name another folder")
    os.environ["DCSVM_REPORT"] = "0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return min(1, make(given.folder, given.only))


if __name__ == "__main__":
    sys.exit(main())
