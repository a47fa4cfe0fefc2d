"""What a run was begun with, for workers to compare with what they have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BegunBy:
    """The URL of a run and the versions that it was begun with."""

    url: str
    versions: dict[str, str]
