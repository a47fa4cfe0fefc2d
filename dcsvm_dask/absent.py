"""What is said of a path at which nothing is: the name nearby that may be meant."""

from __future__ import annotations

import itertools
from difflib import SequenceMatcher
from pathlib import Path

MOST_NAMES = 10_000
"""Names of a folder that are compared."""
LEAST = 0.6
"""How alike names are without their endings, of 1; as difflib has it."""


def no_such(what: str, path: str, remedy: str = "check the path") -> str:
    """Return the end of a sentence: that there is no such file or the like, and what to do.

    Parameters
    ----------
    what : str
        What there is not, such as "file".
    path : str
        Of this machine or a URL; names in folders of URLs are not listed.
    remedy : str, default "check the path"
        What to do where no name in the same folder is like it.

    Returns
    -------
    str
    """
    if not path:
        return f"the name of the {what} is empty; give a path"
    if path == "-":
        return (
            f"there is no such {what}, and standard input cannot be read: data are read more than "
            "once; write them to a file first"
        )
    missing = None if "://" in path else _missing(Path(path).expanduser())
    if missing is None or not missing.name:
        return f"there is no such {what}; {remedy}"
    message = f"there is no such {what}"
    if missing.name != Path(path).name:
        message += f", and no folder {missing.name} in {missing.parent}"
    close = _close(missing)
    return f"{message}; " + (remedy if close is None else f"did you mean {close}?")


def _missing(path: Path) -> Path | None:
    """Return the first part of a path that is not there; None if all are."""
    try:
        parts = [*reversed(path.parents), path]
        return next((part for part in parts if not part.exists()), None)
    except (OSError, ValueError):
        return None


def _close(path: Path) -> str | None:
    """Return the name in the same folder that is most like a path's name, with its folder."""
    try:
        names = [one.name for one in itertools.islice(path.parent.iterdir(), MOST_NAMES)]
    except OSError:
        return None
    visible = sorted(name for name in names if not name.startswith("."))
    alike = [name for name in visible if _ratio(_stem(path.name), _stem(name)) >= LEAST]
    best = max(alike, key=lambda name: _ratio(path.name, name), default=None)
    return None if best is None else str(path.parent / best)


def _stem(name: str) -> str:
    """Return a name without its endings, which many names have in common."""
    return name.partition(".")[0]


def _ratio(one: str, other: str) -> float:
    """Return how alike two names are, from 0 to 1; small and capital letters are the same."""
    return SequenceMatcher(None, one.lower(), other.lower()).ratio()
