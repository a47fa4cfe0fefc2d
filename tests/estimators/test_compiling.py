"""The first fit of an installation says that it compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dcsvm_dask.runtime.compilation import COMPILING

CODE = """
import numba, numpy as np
numba.njit(lambda x: x + 1)(1)  # somebody else's
from dcsvm_dask.estimators import DCSVC
X = np.random.default_rng(0).normal(size=(60, 2))
DCSVC().fit(X, X[:, 0] > 0)
DCSVC().fit(X, X[:, 0] > 0)
"""


@pytest.mark.long
def test_the_first_fit_says_that_it_compiles_and_later_ones_do_not(tmp_path: Path) -> None:
    around = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", CODE], env=around, capture_output=True, text=True, check=True
        )
        said.append(done.stderr.splitlines())
    assert said == [
        [f"dcsvm_dask is {COMPILING}"],
        [],
    ]
