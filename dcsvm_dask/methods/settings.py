"""What shapes a run's committed stages, as steps read it from the run's header."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.checks import check
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.solvers import INNER_SOLVERS, SCHEMES
from dcsvm_dask.tasks import TASKS, Task, make_task

CAPS = ("block_cap", "set_cap")
"""Sizes that need not be given; lower ones are chosen where the workers' memory is too small."""
BLOCK_CAP = 8192
# The only task of a layer may hold a larger matrix than one of many.
_SET_CAP_BLOCKS = 1.5


def usual_set_cap(block_cap: int) -> int:
    """Return the most rows of a working set where none is given."""
    return int(_SET_CAP_BLOCKS * block_cap)


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters that shape committed stages.

    Equal settings and data give an equal model, bit for bit on one kind of processor with one set
    of versions.
    """

    kernel: Kernel
    """The kernel function."""
    C: float
    """Upper bound of a dual variable of weight one."""
    fit_intercept: bool
    """Whether the problem has the equality y'alpha = 0."""
    clusters: tuple[int, ...]
    """Clusters of each level, bottom first; empty: conquer only."""
    levels_forced: bool
    """Whether the levels were given by number, so that the regime does not change them."""
    n_samples_clustering: int
    """Rows on which the clusters of a level are found (m)."""
    block_cap: int
    """Maximum block size (rows): a task of many holds a block's kernel matrix."""
    set_cap: int
    """Most rows of a working set, whose kernel matrix the only task of a layer holds."""
    level_tol: float
    """Violation at which a block of a level is solved."""
    alone_tol: float
    """That at which a block is solved that no other sees: its solution is part of the answer."""
    seed: int
    """Seed of every random choice."""
    chunk_rows: int
    """Rows of an assignment or product task."""
    method: str = DEFAULT_METHOD
    """Its name in `dcsvm_dask.methods.registry`."""
    class_weight: tuple[float, ...] = ()
    """Factors of C by class code; empty: all are one."""
    multiclass: str = "ovo"
    """Which machines more than two classes have; see `dcsvm_dask.solvers.machines_of`."""
    task: str = "classification"
    """Its name in `dcsvm_dask.tasks`."""
    task_options: dict[str, Any] = field(default_factory=dict)
    """Parameters of the task."""
    inner: str = "smo"
    """The inner solver of blocks and working sets; of runs of before there was a choice, SMO."""
    options: dict[str, Any] = field(default_factory=dict)
    """What that method has of its own; see `dcsvm_dask.methods.options`."""

    def bound_of(self, codes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the upper bound of a dual variable of weight one of each of some classes."""
        if not self.class_weight:
            return np.full(len(codes), self.C)
        return np.asarray(self.C * np.array(self.class_weight)[codes])

    @property
    def answers(self) -> str:
        """What the model of the whole problem is called: exact, or by the method that made it."""
        return "exact" if self.method == DEFAULT_METHOD else self.method

    def make_task(self) -> Task:
        """Return the task."""
        return make_task(self.task, self.task_options)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        value = asdict(self)
        value["clusters"] = list(self.clusters)
        value["class_weight"] = list(self.class_weight)
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Settings:
        """Read what ``to_json`` returned.

        Raises
        ------
        InputError
            If a key is missing or unknown, or a value impossible.
        """
        try:
            found = cls(
                **{
                    **value,
                    "kernel": Kernel(**value["kernel"]),
                    "clusters": tuple(int(k) for k in value["clusters"]),
                    "class_weight": tuple(float(w) for w in value.get("class_weight", ())),
                }
            )
            check(found.multiclass in SCHEMES, "multiclass", found.multiclass, "ovo or ovr")
            check(found.inner in INNER_SOLVERS, "inner", found.inner, "the name of a solver")
            check(found.task in TASKS, "task", found.task, f"one of {', '.join(TASKS)}")
            found.make_task()
            return found
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"run.json: settings are damaged: {error}") from error
