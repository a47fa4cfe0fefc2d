"""What all writers of predictions have in common.

A row has a label, and one decision value for two classes, one for each class for more. Without
classes it has the predicted target alone, or one for each of several quantiles.
"""

from __future__ import annotations

import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.label_array import label_array
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.storage.files import named
from dcsvm_dask.storage.location import Location

Codes = NDArray[np.int32]
Vector = NDArray[np.float64]

PREDICTION = "prediction"
"""Name of the column of predicted targets."""


class PredictionWriter(ABC):
    """Writes predictions block by block; the context publishes them at its end.

    Parameters
    ----------
    target : Location
        The place of the predictions; older predictions there are replaced.
    classes : list of labels
        The label of each code; empty where targets are predicted.
    outputs : sequence of str
        Names of the predicted targets of a row; empty: there is one.
    """

    def __init__(self, target: Location, classes: list[Label], outputs: Sequence[str] = ()) -> None:
        self.target = target
        self._token = uuid.uuid4().hex
        self.has_classes = bool(classes)
        self.labels = label_array(classes)
        self.outputs = list(outputs)
        self.width = len(classes) if len(classes) > 2 else len(outputs) or None
        """Values of a row; None: there is one, as of two classes."""

    def columns(self) -> list[str]:
        """Return the names of the columns of decision values, or of predicted targets."""
        if not self.has_classes:
            return [f"{PREDICTION}_{name}" for name in self.outputs] or [PREDICTION]
        if self.width is None:
            return ["decision"]
        return [f"decision_{label}" for label in self.labels.tolist()]

    @abstractmethod
    def open(self) -> None:
        """Begin under a temporary name."""

    def append(self, codes: Codes | None, values: Vector) -> None:
        """Add rows at the end: codes of their labels, where there are classes, and values."""
        with self._named():
            self.add(codes, values)

    @abstractmethod
    def add(self, codes: Codes | None, values: Vector) -> None:
        """Add rows at the end, as `append` does."""

    @abstractmethod
    def publish(self) -> None:
        """Finish, and move the file to its target."""

    @abstractmethod
    def discard(self) -> None:
        """Delete the temporary file."""

    def _named(self) -> AbstractContextManager[None]:
        """Let failures of the system name the target, or the local file that goes to a store."""
        temporary = self.temporary()
        return named(temporary, Path(self.target.url) if self.target.is_local else temporary)

    def temporary(self) -> Path:
        """Return the temporary place: beside the target, or in the folder for temporary files."""
        if not self.target.is_local:
            return Path(tempfile.gettempdir()) / f"dcsvm-{self._token}"
        target = Path(self.target.url)
        return target.with_name(f".{target.name}.{self._token}")

    def __enter__(self) -> PredictionWriter:
        try:
            with self._named():
                self.open()
        except BaseException:
            self.discard()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.discard()
            return
        try:
            with self._named():
                self.publish()
        except BaseException:
            self.discard()
            raise
