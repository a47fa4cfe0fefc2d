"""The parameters of OCAS and CPA, and how the work of a run is shared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, get_args

from dcsvm_dask.checks import check
from dcsvm_dask.methods.linear.options import LinearOptions, number_of_svms
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.parameters import parameter
from dcsvm_dask.solvers.cutting import SHARE, Unit

# Bytes and rows of a part, at most: one part does without a commit for each iteration.
PART_BYTES, PART_ROWS = 256 << 20, 1 << 22
# Parts are a multiple of it, so that as many workers, or half of them, have equal shares.
EVEN_PARTS = 4
# Work of the first round of rows in one part, and of the largest one: values that are met. Each
# iteration costs some, a row of it too, and each value is met for the outputs and for the cut.
FIRST_WORK, MOST_WORK, ITERATION_WORK, ROW_WORK, MEETINGS = 1e9, 6e10, 1e6, 60, 2


@dataclass(frozen=True)
class CuttingPlanes(LinearOptions):
    """What OCAS and CPA have in common."""

    unit: str = parameter(
        "objective",
        "what the gap of primal and dual objective that tol allows is a share of: the objective "
        "reached, cost (that at w = 0), or absolute: the gap itself",
        choices=get_args(Unit),
    )

    def changes(self) -> dict[str, Any]:
        """Return which of the three changes of CPA are made, as `solve_cutting` takes them."""
        return {"best": False, "line_search": False, "share": 1.0}


@dataclass(frozen=True)
class Ocas(CuttingPlanes):
    """CPA with three changes, each of which can be left out."""

    best: bool = parameter(True, "keep the best point so far")
    line_search: bool = parameter(True, "search the best point on the line; needs best")
    share: float | None = parameter(
        None,
        "share of the reduced problem's solution in the point of a cut",
        least=0,
        most=1,
        default_text=f"{SHARE}, without line_search 1",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.best or not self.line_search, "line_search", True, "false where best is false")
        wanted = "1 where line_search is false: other cuts may leave w_t as it is"
        check(self.line_search or self.share in (None, 1.0), "share", self.share, wanted)

    def changes(self) -> dict[str, Any]:
        """Return which of the three changes of CPA are made, as `solve_cutting` takes them."""
        usual = SHARE if self.line_search else 1.0
        share = usual if self.share is None else self.share
        return {"best": self.best, "line_search": self.line_search, "share": share}


KINDS: dict[str, type[CuttingPlanes]] = {"ocas": Ocas, "cpa": CuttingPlanes}
"""The parameters of the methods, by name."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the work of a run is shared; it depends on the data and the settings alone."""

    machines: int
    """SVMs."""
    parts: int
    """Parts of the rows."""
    constant: float
    """The constant feature; 0: there is no bias."""
    changes: dict[str, Any]
    """The changes of CPA that are made."""
    unit: str
    """Unit of the gap."""
    work: float
    """Work of an iteration over all rows."""

    @classmethod
    def of(cls, settings: Settings, shape: Shape) -> Layout:
        """Return the layout of a run."""
        options, n = KINDS[settings.method](**settings.options), shape.n_variables
        machines = number_of_svms(settings, shape)
        # Tasks hold the outputs of all SVMs, but for one part, where each SVM has its own.
        outputs = n * machines if n > PART_ROWS or shape.n_bytes > PART_BYTES else n
        wanted = math.ceil(max(shape.n_bytes / PART_BYTES, outputs / PART_ROWS))
        if wanted > 1:
            wanted = EVEN_PARTS * math.ceil(wanted / EVEN_PARTS)
        constant = options.feature if settings.fit_intercept else 0.0
        values = shape.n_bytes / (4.0 * max(1, shape.n_rows))
        return cls(
            machines,
            min(n, max(1, options.parts or wanted)),
            constant,
            options.changes(),
            options.unit,
            ITERATION_WORK + n * (ROW_WORK + MEETINGS * values),
        )

    @property
    def reads(self) -> int:
        """How often an iteration meets each row: of w_t itself the outputs go with the cut."""
        return 2 if self.changes["best"] else 1

    def most_iterations(self, number: int) -> int:
        """Return the iterations of a round of rows in one part; the first ones double."""
        work = min(FIRST_WORK * float(1 << min(number - 1, 64)), MOST_WORK)
        return max(1, round(work / self.work))
