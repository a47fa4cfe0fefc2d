"""Write requirements.txt: what the image installs, each file with its hash.

    python cluster/lock.py

Asks pip (23 or later) which files it would install on the image's Python and platforms, at the
versions of constraints.txt, and installs nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[1]
OUT = HOME / "cluster" / "requirements.txt"
EXTRAS = ("parquet", "report", "s3")
PYTHON = "3.11"
GLIBC = ((2, 17), (2, 24), (2, 26), (2, 27), (2, 28))
MACHINES = ("x86_64", "aarch64")
HEAD = f"""# What the image installs beside the package, with the hashes of the files
# for Python {PYTHON} on Linux ({" and ".join(MACHINES)}).
# Written by `python cluster/lock.py` from constraints.txt.
"""


def wanted() -> list[str]:
    """Return the requirements of the package, of its extras in the image, and of its build."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    found = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    return [*found, *(one for extra in EXTRAS for one in extras[extra])]


def files_of(machine: str) -> list[tuple[str, str, str]]:
    """Return name, version and SHA-256 of every file that pip would install."""
    tags = [f"manylinux_{major}_{minor}_{machine}" for major, minor in GLIBC]
    tags += [f"manylinux2014_{machine}"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", str(report)]
        words += ["--only-binary", ":all:", "--python-version", PYTHON, "--target", folder]
        words += [word for tag in tags for word in ("--platform", tag)]
        words += ["--constraint", str(HOME / "constraints.txt"), *wanted()]
        subprocess.run([sys.executable, "-m", "pip", "--isolated", *words], check=True)
        told: dict[str, Any] = json.loads(report.read_text())
    return [
        (
            one["metadata"]["name"].lower().replace("_", "-"),
            one["metadata"]["version"],
            one["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for one in told["install"]
    ]


def main() -> None:
    """Write the file."""
    found: dict[tuple[str, str], set[str]] = {}
    for machine in MACHINES:
        for name, version, digest in files_of(machine):
            found.setdefault((name, version), set()).add(digest)
    lines = [
        f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{one}" for one in sorted(hashes))
        for (name, version), hashes in sorted(found.items())
    ]
    OUT.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
