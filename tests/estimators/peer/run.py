"""Run scikit-learn's own tests of SVC and LinearSVC on DCSVC and LinearDCSVC.

``python -m tests.estimators.peer.run`` prints the counts and each failure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import sklearn

from dcsvm_dask.runtime.compilation import use_own_cache
from tests.estimators.peer.substitute import RESULTS

ROOT = Path(__file__).resolve().parents[3]
FILES = ("test_svm.py", "test_sparse.py")


@dataclass(frozen=True)
class Results:
    """What became of scikit-learn's tests that use SVC or LinearSVC.

    Attributes
    ----------
    passed : list of str
    passed_but_for_refusals : list of str
        Those that want an input refused that we take, and pass where a subclass refuses it.
    failed : dict of str
        The message of each.
    others_failed : dict of str
        Of tests that use neither class: none, or scikit-learn's tests do not run here.
    output : str
        What pytest printed.
    """

    passed: list[str]
    passed_but_for_refusals: list[str]
    failed: dict[str, str]
    others_failed: dict[str, str]
    output: str

    @property
    def total(self) -> int:
        """How many tests use the classes."""
        return len(self.passed) + len(self.passed_but_for_refusals) + len(self.failed)


def run() -> Results:
    """Run the tests in a process of their own, in which the classes are substituted."""
    use_own_cache()
    folder = Path(sklearn.__file__).parent / "svm" / "tests"
    with tempfile.TemporaryDirectory(prefix="dcsvm-peer-") as scratch:
        results = Path(scratch) / "results.json"
        paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        # Neither this project's settings of pytest nor its warnings as errors.
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", scratch),
            *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.estimators.peer.substitute"),
            *(str(folder / name) for name in FILES),
        ]
        # The process of a worker of pytest-xdist tells its children to be one, too.
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
        }
        environment |= {RESULTS: str(results), "PYTHONPATH": paths}
        done = subprocess.run(
            command, env=environment, cwd=scratch, capture_output=True, text=True, check=False
        )
        output = done.stdout + done.stderr
        if not results.exists():
            raise RuntimeError(f"scikit-learn's tests did not run:\n{output}")
        return Results(**json.loads(results.read_text()), output=output)


def main() -> None:
    """Print the counts, and what failed."""
    found = run()
    print(f"{len(found.passed)} of {found.total} pass")
    print(f"{len(found.passed_but_for_refusals)} more pass but for a refusal of SVC's")
    print(f"{len(found.failed)} fail:")
    for name, said in found.failed.items():
        print(f"  {name}: {' '.join(said.split())[:200]}")


if __name__ == "__main__":
    main()
