"""`dcsvm demo`: what a newcomer sees first."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dcsvm_dask import api
from dcsvm_dask.cli import main
from tests.command_line import COMMAND, invoke


@pytest.mark.long
def test_the_demo_trains_tells_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how: dict[str, Any] = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run([*COMMAND, "demo"], **how, check=True)
    monkeypatch.chdir(tmp_path)
    found = re.search(
        r"^exact: accuracy (\S+) objective (\S+) gap (\S+) violation (\S+) support vectors (\d+)$",
        done.stdout,
        re.MULTILINE,
    )
    assert found is not None, done.stdout
    assert 0.8 < float(found[1]) < 1.0
    assert float(found[4]) <= 1e-3
    assert "early prediction: accuracy" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    # What it says can be done next can be done.
    words = next(line.split() for line in done.stdout.splitlines() if "dcsvm evaluate" in line)
    evaluated = invoke(*words[words.index("dcsvm") + 1 :], "--json")
    assert evaluated.exit_code == 0, evaluated.output
    assert json.loads(evaluated.stdout)["n_rows"] == 4000
    # Again, silently, in this process, to the same bits.
    alpha = api.open_run(tmp_path / ".demo/run")
    before = alpha.folder.node(alpha.status()["model"], "commit").read("alpha")
    again = invoke("demo", "--quiet", "--workers", "0")
    assert again.exit_code == 0, again.output
    assert again.stdout.strip() == found[0]
    assert again.stderr == ""
    run = api.open_run(tmp_path / ".demo/run")
    after = run.folder.node(run.status()["model"], "commit").read("alpha")
    assert (before == after).all()


def test_the_demo_leaves_other_things_at_its_places_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("run", "covtype.zarr"):
        (tmp_path / ".demo" / name).mkdir(parents=True)
        (tmp_path / ".demo" / name / "thesis.tex").write_text("important")
    done = CliRunner().invoke(main, ["demo", "--workers", "0", "--quiet"])
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("dcsvm: ")
    assert (tmp_path / ".demo/run/thesis.tex").read_text() == "important"
    assert (tmp_path / ".demo/covtype.zarr/thesis.tex").read_text() == "important"
