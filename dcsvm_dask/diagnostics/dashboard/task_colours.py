"""A colour for each kind of step on Dask's own pages: task stream, progress, graph, groups."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from dcsvm_dask.diagnostics.colours import step_colour

# Dask hashes a task's name into one of 18 colours, which a run's forty names share by chance, and
# has no setting for it. Where its pages look the function up it is wrapped; other names keep their
# colours.
LOOKED_UP = {
    "distributed.diagnostics.progress_stream": ("color_of",),
    "distributed.diagnostics.task_stream": ("color_of",),
    "distributed.dashboard.components.scheduler": ("color_of", "ts_color_of"),
}
OURS = "dcsvm_"


def colour_tasks() -> None:
    """Give the tasks of runs the colours of their steps in this scheduler's dashboard."""
    for module_name, names in LOOKED_UP.items():
        module = importlib.import_module(module_name)
        for name in names:
            before = getattr(module, name, None)
            if before is not None and not isinstance(before, ByStep):
                setattr(module, name, ByStep(before))


class ByStep:
    """Dask's choice of a colour, but for names of runs' tasks the one of the step.

    Parameters
    ----------
    color_of : callable
        Dask's: a name to a colour.
    """

    def __init__(self, color_of: Callable[..., str]) -> None:
        self.before = color_of

    def __call__(self, name: Any, *more: Any, **options: Any) -> str:
        """Return the colour of a name."""
        if isinstance(name, str) and name.startswith(OURS):
            return step_colour(name.rsplit("_", 1)[-1])
        return self.before(name, *more, **options)
