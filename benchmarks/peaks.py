"""The largest resident memory of a command and of every process that it starts."""

from __future__ import annotations

import time
from pathlib import Path

import psutil

LIMIT = 500 << 20
"""What no process may take when data are streamed."""


def report(command: list[str]) -> int:
    """Run a command, print time and peaks; return 1 if a process took more than the limit."""
    begin = time.perf_counter()
    peaks = measure(command)
    print(f"{time.perf_counter() - begin:.1f} s")
    for name, peak in peaks:
        print(f"{peak / 2**20:7.0f} MiB  {name}")
    worst = max(peak for _, peak in peaks)
    print(f"largest: {worst / 2**20:.0f} MiB; the bound is {LIMIT / 2**20:.0f} MiB")
    return int(worst > LIMIT)


def measure(command: list[str]) -> list[tuple[str, int]]:
    """Run a command; return the largest resident memory of it and of every child process."""
    peaks: dict[int, tuple[str, int]] = {}
    process = psutil.Popen(command)
    while process.poll() is None:
        try:
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            break
        for member in family:
            peak = peak_of(member.pid)
            if peak:
                name = "command" if member.pid == process.pid else f"child {member.pid}"
                peaks[member.pid] = (name, peak)
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(process.returncode)
    return list(peaks.values())


def peak_of(pid: int) -> int:
    """Return the largest resident memory so far of a process, in bytes; 0 if it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0
