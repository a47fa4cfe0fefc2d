"""Memory of an ingest does not grow with the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.marks import long, soak

INGEST = """
import sys
from dcsvm_dask.data.ingest import ingest
options = {option: float(value) for option, value in (o.split("=") for o in sys.argv[3:])}
data = ingest(sys.argv[1], sys.argv[2], scale="minmax", **options)
# Not ru_maxrss: a child begins with that of its parent.
status = open("/proc/self/status").read()
print(data.n_rows, int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")


def peak(source: Path, out: Path, *options: str) -> tuple[int, int]:
    """Return the rows that were taken in and the peak memory of the process in megabytes."""
    done = subprocess.run(
        [sys.executable, "-c", INGEST, str(source), str(out), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    rows, megabytes = done.stdout.split()
    return int(rows), int(megabytes)


def write(path: Path, form: str, megabytes: int) -> int:
    """Write a file of about a size and return its number of rows."""
    rng = np.random.default_rng(0)
    lines = []
    for values in rng.random((2000, 12)).round(6).tolist():
        label = int(values[0] > 0.5)
        if form == "csv":
            lines.append(",".join(map(repr, values)) + f",{label}\n")
        else:
            lines.append(
                f"{label} " + " ".join(f"{7 * k + 1}:{v}" for k, v in enumerate(values)) + "\n"
            )
    block = "".join(lines).encode()
    repeats = megabytes * 10**6 // len(block)
    with path.open("wb") as file:
        for _ in range(repeats):
            file.write(block)
    return repeats * 2000


@pytest.mark.parametrize(
    ("form", "megabytes", "options"),
    [
        long("svm", 60, []),
        long("csv", 20, ["test_fraction=0.2"]),
        soak("svm", 600, []),
        soak("svm", 400, ["test_fraction=0.2"]),
        soak("csv", 600, []),
    ],
)
def test_peak_memory(form: str, megabytes: int, options: Any, tmp_path: Path) -> None:
    small, large = tmp_path / f"small.{form}", tmp_path / f"large.{form}"
    write(small, form, 1)
    rows = write(large, form, megabytes)
    _, least = peak(small, tmp_path / "small.zarr", *options)
    found, most = peak(large, tmp_path / "large.zarr", *options)
    assert found == (rows if not options else round(0.8 * rows))
    assert most < 500
    assert most - least < 250
