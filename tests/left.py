"""What processes left in a run's folder, for tests that look at it or change it."""

from __future__ import annotations

import os
from typing import Any

from dcsvm_dask.storage.claims import claim_names
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.run import RunFolder

Run = str | os.PathLike[str] | Location


class KilledError(BaseException):
    """Ends a process in the middle of anything, as kill -9 does: nothing may catch it."""


def latest(run: Run, folder: str) -> Location:
    """Return the newest object of a run's ``state``, ``journal`` or ``lock``."""
    place = Location.of(run) / folder
    return place / place.list()[-1]


def rewrite_state(run: Run, **changes: Any) -> None:
    """Change how the last process left a run."""
    place = latest(run, "state")
    place.write_json(seal({**place.read_json(), **changes}))


def forget_state(run: Run) -> None:
    """Let nobody have left a run."""
    (Location.of(run) / "state").delete()


def take_over(run: Run) -> None:
    """Take a run over as a process of another host would."""
    place = Location.of(run)
    number = 1 + max(int(name.split("-")[0]) for name in claim_names(place))
    (place / "lock" / f"{number:06d}-0123456789ab.json").write_json({})
    for name in claim_names(place)[:-1]:
        (place / "lock" / f"{name}.json").delete()


def damaged(run: RunFolder) -> list[Location]:
    """Return the places whose objects are not what was committed."""
    return [
        found.place
        for stage in run.stages()
        for node in run.nodes(stage)
        if (found := run.find(stage, node)) is not None and not found.verify()
    ]
