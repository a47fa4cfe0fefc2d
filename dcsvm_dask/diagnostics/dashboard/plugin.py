"""What stands in the scheduler: it follows runs, and its page is a route of the dashboard."""

from __future__ import annotations

from typing import Any

from distributed import SchedulerPlugin

from dcsvm_dask.diagnostics.dashboard.runs import Runs
from dcsvm_dask.runtime.caretaker import carriers

NAME = "dcsvm-page"


class PagePlugin(SchedulerPlugin):  # type: ignore[misc]
    """Follows the runs of a scheduler and shows them on the page ``/dcsvm`` of its dashboard.

    It looks at nothing but what is logged there about runs, workers and clients: no hook of it is
    called for a task.

    Parameters
    ----------
    stays : bool, default False
        Whether it stays when the last client that carries a run is gone.
    """

    name = NAME
    # A second run finds the page of the first one.
    idempotent = True

    def __init__(self, *, stays: bool = False) -> None:
        self.runs = Runs()
        self._stays = stays
        self._application: Any = None

    async def start(self, scheduler: Any) -> None:
        """Add the page.

        Raises
        ------
        ImportError
            If bokeh is absent.
        """
        from dcsvm_dask.diagnostics.dashboard.route import add_page

        self._application = add_page(scheduler, self.runs)

    def remove_client(self, scheduler: Any, client: str) -> None:  # noqa: ARG002 (the others count)
        """Take the page away after the last client that carries a run."""
        if self._stays or carriers(scheduler):
            return
        scheduler.remove_plugin(NAME)
        if self._application is not None:
            from dcsvm_dask.diagnostics.dashboard.route import remove_page

            remove_page(scheduler, self._application)

    def log_event(self, topic: str, msg: Any) -> None:
        """Take what is logged."""
        self.runs.take(topic, msg)
