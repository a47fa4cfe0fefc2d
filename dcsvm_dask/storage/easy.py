"""The folder of `easy`: a data set, searches, two runs, and what was asked, as JSON."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.spelling import flag, option
from dcsvm_dask.storage.claims import LOCK
from dcsvm_dask.storage.location import Location

STATE = "easy.json"
READING, SEARCHING, TRAINING, COMPLETE = "reading", "searching", "training", "complete"


class EasyFolder:
    """What lies where in the folder of `easy`, and its state.

    Parameters
    ----------
    place : Location

    Attributes
    ----------
    state : dict
        ``asked`` (source and words), ``state``, ``interrupted`` (whether Ctrl-C ended it there),
        ``rounds`` of the search and, at the end, ``figures``.
    """

    def __init__(self, place: Location) -> None:
        self.place = place
        self.state: dict[str, Any] = {}

    @property
    def data(self) -> Location:
        """The data set."""
        return self.place / "data.zarr"

    @property
    def model(self) -> Location:
        """The run of the best candidate."""
        return self.place / "model"

    @property
    def linear(self) -> Location:
        """The run of the linear SVM."""
        return self.place / "linear"

    def sample(self, rows: int) -> Location:
        """Return the place of a sample of the training rows."""
        return self.place / f"sample-{rows}.zarr"

    def search(self, number: int) -> Location:
        """Return the place of the search of a round, from 0."""
        return self.place / f"search-{number + 1:02d}"

    def look(self, asked: dict[str, Any], *, overwrite: bool) -> bool:
        """Read what is there, and return whether it is to be taken up.

        Parameters
        ----------
        asked : dict
            Source and words of the call, as JSON values.
        overwrite : bool
            Whether the results of another call are to be deleted.

        Raises
        ------
        InputError
            If there are other files, or results that are not to be replaced.
        """
        names = set(self.place.list()) - {LOCK}
        if not names:
            return False
        if STATE not in names:
            raise InputError(
                f"{self.place}: is neither empty nor a folder of `dcsvm easy`; name another one "
                f"by {option('out')}"
            )
        found = (self.place / STATE).read_json()
        if overwrite or found.get("state") == READING:
            return False
        if found.get("state") == COMPLETE:
            raise InputError(
                f"{self.place}: has the results of `dcsvm easy` already, model and report in "
                f"{self.model}; give {flag('overwrite')} to replace them, or another folder by "
                f"{option('out')}"
            )
        before = found.get("asked", {})
        differing = [word for word in asked if before.get(word) != asked[word]]
        if differing or asked["source"] is None:
            which = ", ".join(word.replace("_", "-") for word in differing) or "rows in memory"
            raise InputError(
                f"{self.place}: was begun by another call ({which}); repeat that one to go on "
                f"with it, give {flag('overwrite')} to begin anew, or another folder by "
                f"{option('out')}"
            )
        self.state = found
        return True

    def clear(self) -> None:
        """Delete all but the lock."""
        for name in set(self.place.list()) - {LOCK}:
            (self.place / name).delete()

    def write(self, **changed: Any) -> None:
        """Change the state and write it."""
        self.state |= changed
        (self.place / STATE).write_json(self.state)


def state_of_folder(place: Location) -> str | None:
    """Return how far `easy` came in a folder, as the end of a sentence; None in other folders."""
    try:
        found = (place / STATE).read_json()
    except (FileNotFoundError, NotADirectoryError):
        return None
    folder = EasyFolder(place)
    if found.get("state") == COMPLETE:
        return f"is a folder of `dcsvm easy`; its model is {folder.model}"
    how = "was interrupted" if found.get("interrupted") else "is at work, or was killed,"
    return (
        f"is a folder of `dcsvm easy`, which {how} while {found.get('state')}; repeat it to go on"
    )
