"""What stands in the scheduler: it follows runs, and its page is a route of the dashboard."""

from __future__ import annotations

from typing import Any

from distributed import SchedulerPlugin

from dcsvm_dask.diagnostics.dashboard.runs import Runs

NAME = "dcsvm-page"


class PagePlugin(SchedulerPlugin):  # type: ignore[misc]
    """Follows the runs of a scheduler and shows them on the page ``/dcsvm`` of its dashboard.

    It looks at nothing but what is logged there about runs, workers and clients: no hook of it is
    called for a task.
    """

    name = NAME
    # The second run finds the page that the first one has left.
    idempotent = True

    def __init__(self) -> None:
        self.runs = Runs()

    async def start(self, scheduler: Any) -> None:
        """Add the page.

        Raises
        ------
        ImportError
            If bokeh is absent.
        """
        from dcsvm_dask.diagnostics.dashboard.route import add_page

        add_page(scheduler, self.runs)

    def log_event(self, topic: str, msg: Any) -> None:
        """Take what is logged."""
        self.runs.take(topic, msg)
