"""``dcsvm info`` of a run: what its folder holds."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.cli.options import echo


def is_run(place: str) -> bool:
    """Return whether there is a run at a place."""
    from dcsvm_dask.storage.location import Location

    return (Location.of(place) / "run.json").exists()


def describe(place: str) -> dict[str, Any]:
    """Return what a run's folder holds, JSON-able."""
    from dcsvm_dask.diagnostics.status import state_now
    from dcsvm_dask.methods.registry import options_of
    from dcsvm_dask.storage.run import RunFolder

    run = RunFolder.open(place)
    settings, sizes = run.header["settings"], run.place.keys().values()
    return {
        "run": run.place.url,
        "data": run.header["data"]["url"],
        "method": options_of(settings)[0],
        "state": state_now(run)["state"],
        "stages": len(run.stages()),
        "files": len(sizes),
        "bytes": sum(sizes),
    }


def show(found: dict[str, Any]) -> None:
    """Print what `describe` found."""
    from dcsvm_dask.numbers import counted
    from dcsvm_dask.readers.memory import show_size

    echo(found["run"])
    echo(f"  a run of {found['method']} on {found['data']}")
    echo(f"  {found['state']}, {counted(found['stages'], 'stage')}")
    echo(f"  {counted(found['files'], 'file')}, {show_size(found['bytes'])}")
