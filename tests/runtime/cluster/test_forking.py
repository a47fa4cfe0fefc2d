"""Local workers as forks of a process that has loaded the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution

if __name__ == "__main__":
    data, place = sys.argv[1:]
    found = []
    for i, limit in enumerate((1 << 30, 2 << 30)):
        run = api.train(
            data, f"{place}/{i}", gamma=1.0, quiet=True,
            execution=Execution(workers=2, memory_limit=limit),
        )
        found.append(run.status()["objective"])
    import multiprocessing.forkserver as forkserver
    pid = forkserver._forkserver._forkserver_pid
    print(json.dumps({"objectives": found, "forked": pid is not None}))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_workers_are_forked_again_and_again(demo_rows: Callable[..., Path], tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(demo_rows(300)), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "DCSVM_REPORT": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["forked"]
    assert found["objectives"][0] == found["objectives"][1]
    assert "Traceback" not in done.stderr
