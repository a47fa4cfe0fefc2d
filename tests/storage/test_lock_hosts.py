"""Two hosts that ask for one folder at the same time, with pauses between any two operations."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask.storage.processes import this_process
from tests.marks import long, soak
from tests.namespaces import on_host, require_namespaces

ASK = """
import os, random, sys, time
from pathlib import Path

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage import lock
from dcsvm_dask.storage.location import Location

place, name, seed = Location(sys.argv[1]), sys.argv[2], int(sys.argv[3])
lock.WATCH_SECONDS, lock.PAUSE_SECONDS = 0.01, (0.0, 0.05)
pauses = random.Random(seed)


def pause_before(owner, method):
    whole = getattr(owner, method)

    def call(*arguments, **words):
        time.sleep(pauses.choice([0.0, 0.0, 0.001, 0.005]))
        return whole(*arguments, **words)

    setattr(owner, method, call)


for method in ("list", "read_bytes", "write_bytes", "delete", "delete_if_empty", "exists"):
    pause_before(Location, method)
for owner, method in ((os, "link"), (os, "replace"), (os, "fsync"), (os, "unlink"), (Path, "open")):
    pause_before(owner, method)

print("ready", flush=True)
for line in sys.stdin:
    try:
        with lock.FolderLock(place):
            begin = time.monotonic()
            time.sleep(0.005)
            end = time.monotonic()
        print("owned", begin, end, flush=True)
    except InputError as error:
        known = "in use by" in str(error) or "at the same time" in str(error)
        print("refused" if known else repr(error), flush=True)
"""


@pytest.mark.parametrize("tries", [8, long(40), soak(200)])
def test_a_folder_never_has_two_owners(tries: int, tmp_path: Path) -> None:
    require_namespaces()
    place = tmp_path / "run"
    (place / "lock").mkdir(parents=True)
    (place / "run.json").write_text("{}")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    hosts: list[Any] = [on_host("same-name", ASK, [place, i, i], **pipes) for i in range(2)]
    stale = {
        **this_process(),
        "boot": "of another host",
        "user": "ada",
        "host": "same-name",
        "since": 0.0,
        "heartbeat": 0.0,
        "beat": 0,
        "released": False,
    }
    owned: list[int] = []
    try:
        for host in hosts:
            assert host.stdout.readline() == "ready\n"
        for number in range(tries):
            if number % 2 and any(owned):  # else the owner before has given it back
                last = max(int(path.name[:6]) for path in (place / "lock").iterdir())
                claim = place / "lock" / f"{last + 1:06d}-00000000abcd.json"
                claim.write_text(json.dumps(stale))
            for host in hosts:
                host.stdin.write("now\n")
                host.stdin.flush()
            said = [host.stdout.readline().split() for host in hosts]
            assert {words[0] for words in said} <= {"owned", "refused"}, said
            spans = sorted((float(w[1]), float(w[2])) for w in said if w[0] == "owned")
            if len(spans) == 2:
                assert spans[0][1] <= spans[1][0], f"two owners in try {number}: {spans}"
            owned.append(len(spans))
    finally:
        for host in hosts:
            host.kill()
            host.wait()
            host.stdin.close()
            host.stdout.close()
    assert sum(count > 0 for count in owned) > 0.8 * tries  # hardly ever does nobody get it
