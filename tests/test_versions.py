"""What a model depends on beside data, parameters and seed."""

from __future__ import annotations

import os
import subprocess
import sys

from dcsvm_dask.versions import COMPARED, differing, versions


def test_what_differs_is_named_and_what_was_not_recorded_is_not_compared() -> None:
    found = versions()
    assert set(COMPARED) <= found.keys()
    assert differing(found, found) == {}
    assert differing({}, found) == {}
    assert differing({**found, "scipy": "1.0", "python": "2.7"}, found) == {
        "scipy": ["1.0", found["scipy"]]
    }


def test_another_kernel_of_the_blas_is_another_version_of_it() -> None:
    code = "from dcsvm_dask.versions import versions; print(versions()['blas'])"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "OPENBLAS_CORETYPE": kernel},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for kernel in ("Haswell", "Prescott")
    }
    if "openblas" in found.pop():
        assert len(found) == 1
