"""A run folder that has its parameters and nothing else."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder


def begun(place: Path, data: DataSet, settings: Settings, goals: Goals, shape: Shape) -> RunFolder:
    """Return a new run of a data set, whose test part is held out."""
    header = {
        "settings": settings.to_json(),
        "goals": asdict(goals),
        "shape": asdict(shape),
        "data": {"url": data.url, "fingerprint": data.fingerprint},
        "holdout": f"{data.place}/test",
        "versions": {},
    }
    return RunFolder.create(Location.of(place), header)
