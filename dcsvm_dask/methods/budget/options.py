"""The parameters of descent on a budget, and how its work is shared."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any

from dcsvm_dask.checks import check
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.linear.options import number_of_svms
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.parameters import parameter
from dcsvm_dask.solvers import check_merge
from dcsvm_dask.solvers.budget.merging import MERGE_NAMES
from dcsvm_dask.solvers.budget.tables import LEAST_SIZE, MOST_SIZE, SIZE
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.merge_tables import given_tables
from dcsvm_dask.tasks import Task

# Up to so many bytes the rows of a share are in memory, and every epoch is a random order of all.
WHOLE_BYTES = 256 << 20
# Beyond, pieces of random chunks are; rows of a chunk.
PIECE_BYTES, CHUNK_ROWS = 128 << 20, 4096
# Seconds of a core that a commit is worth.
STAGE_SECONDS = 5.0
# Seconds of a core for a value of a row with a support vector, for a support vector, and a step.
VALUE_SECONDS, POINT_SECONDS, STEP_SECONDS = 8e-11, 1.5e-9, 3e-7
# Seconds of a core for a step by projection, times the cube of the number of support vectors.
SOLVE_SECONDS = 1e-11


@dataclass(frozen=True)
class Budgeted(Options):
    """How many support vectors there may be, and how they are kept so few."""

    losses = ("hinge", "epsilon_insensitive")
    solves = False

    budget: int = parameter(500, "support vectors, at most", least=2)
    epochs: int = parameter(20, "passes over the rows", least=1)
    merge: str = parameter(
        "lookup-wd",
        "what happens with one support vector too many",
        choices=MERGE_NAMES,
    )
    shares: int = parameter(
        1,
        "shares of the rows that learn side by side; their mean goes on after each epoch",
        least=1,
    )
    table_size: int = parameter(
        SIZE,
        "points of the tables of merges in each direction",
        least=LEAST_SIZE,
        most=MOST_SIZE,
    )
    tables: str | None = parameter(
        None,
        "file of these tables, which `dcsvm merge-tables` has written",
        default_text="none",
    )

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to."""
        return True

    def check_kernel(self, name: str) -> None:
        """Refuse a kernel whose points cannot be merged."""
        check_merge(Kernel(name), self.merge)

    def check_installed(self) -> None:
        """Refuse a file of tables that is missing, or whose tables cannot be used."""
        if self.tables is not None:
            named: Any = self.tables  # parameters of text have no check of their kind
            check(
                isinstance(named, str | os.PathLike) and bool(str(named)),
                "tables",
                self.tables,
                "the path of a file",
            )
            given_tables(self.tables, self.table_size)

    def of_task(self, task: Task) -> Budgeted:
        """Return these parameters with the whole path of a file of tables, and with their size."""
        del task
        if self.tables is None:
            return self
        self.check_installed()
        place = Location.of(self.tables)
        return replace(self, tables=place.url, table_size=given_tables(place, self.table_size).size)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the work of a run is shared; it depends on the data and the settings alone."""

    machines: int
    """SVMs."""
    shares: int
    """Shares of the rows that learn side by side."""
    pieces: int
    """Pieces of an epoch of a share."""
    whole: bool
    """Whether the rows of a share are in memory."""
    count: int
    """Pieces of a stage, of whole epochs where there are several shares."""
    epochs: int
    step_seconds: float
    """Time of a core for a step of one SVM."""

    @classmethod
    def of(cls, settings: Settings, shape: Shape) -> Layout:
        """Return the layout of a run."""
        options, n = Budgeted(**settings.options), shape.n_variables
        machines, shares = number_of_svms(settings, shape), min(options.shares, n)
        n_bytes = shape.n_bytes * n / max(1, shape.n_rows) / shares
        whole = n_bytes <= WHOLE_BYTES
        values = shape.n_bytes / (4.0 * max(1, shape.n_rows))
        solving = SOLVE_SECONDS * options.budget**3 if options.merge == "projection" else 0.0
        seconds = STEP_SECONDS + solving + options.budget * (POINT_SECONDS + VALUE_SECONDS * values)
        epoch = machines * seconds * n / shares
        chunks = math.ceil(n // shares / CHUNK_ROWS)
        if whole:
            pieces = max(1, math.ceil(epoch / STAGE_SECONDS)) if shares == 1 else 1
        else:
            pieces = min(chunks, math.ceil(n_bytes / PIECE_BYTES))
        pieces = max(1, min(pieces, n // shares))
        count = max(1, math.floor(STAGE_SECONDS * pieces / epoch))
        if shares > 1:  # the mean is taken after each epoch
            count = pieces
        return cls(machines, shares, pieces, whole, count, options.epochs, seconds)

    @property
    def stages(self) -> int:
        """Stages of the run."""
        return math.ceil(self.epochs * self.pieces / self.count)

    def pieces_of(self, number: int) -> tuple[int, int]:
        """Return the first piece of stage `number`, from 1, and the one after its last."""
        first = (number - 1) * self.count
        return first, min(first + self.count, self.epochs * self.pieces)
