"""The scheduler's plugin: it follows runs and serves the page as a route of the dashboard.

It also colours the tasks of runs by their step on Dask's own pages.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from bokeh.server.tornado import BokehTornado
from distributed import SchedulerPlugin
from distributed.dashboard.core import BokehApplication
from distributed.dashboard.scheduler import template_variables
from tornado.ioloop import IOLoop

from dcsvm_dask.diagnostics.colours import step_colour
from dcsvm_dask.diagnostics.dashboard.page import page_doc
from dcsvm_dask.diagnostics.dashboard.runs import Runs
from dcsvm_dask.runtime.caretaker import carriers

# Dask hashes a task's name into one of 18 colours, so several of a run's forty names share one, and
# has no setting for it. The function is wrapped in the modules that use it; other names keep their
# colours.
LOOKED_UP = {
    "distributed.diagnostics.progress_stream": ("color_of",),
    "distributed.diagnostics.task_stream": ("color_of",),
    "distributed.dashboard.components.scheduler": ("color_of", "ts_color_of"),
}
OURS = "dcsvm_"


def colour_tasks() -> None:
    """Colour the tasks of runs by their step in this scheduler's dashboard."""
    for module_name, names in LOOKED_UP.items():
        module = importlib.import_module(module_name)
        for name in names:
            before = getattr(module, name, None)
            if before is not None and not isinstance(before, ByStep):
                setattr(module, name, ByStep(before))


class ByStep:
    """Dask's choice of a colour, replaced for tasks of runs by the colour of the step.

    Parameters
    ----------
    color_of : callable
        Dask's function from a name to a colour.
    """

    def __init__(self, color_of: Callable[..., str]) -> None:
        self.before = color_of

    def __call__(self, name: Any, *more: Any, **options: Any) -> str:
        """Return the colour of a task's name."""
        if isinstance(name, str) and name.startswith(OURS):
            return step_colour(name.rsplit("_", 1)[-1])
        return self.before(name, *more, **options)


NAME = "dcsvm-page"


class PagePlugin(SchedulerPlugin):  # type: ignore[misc]
    """A scheduler plugin that follows the runs and shows them on the page ``/dcsvm``.

    It reads logged events of runs, workers and clients only: no hook is called for a task.

    Parameters
    ----------
    stays : bool, default False
        Whether the page stays when the last client that carries a run is gone.
    """

    name = NAME
    # A second run finds the page of the first one.
    idempotent = True

    def __init__(self, *, stays: bool = False) -> None:
        self.runs = Runs()
        self._stays = stays
        self._application: Any = None

    async def start(self, scheduler: Any) -> None:
        """Add the page to a scheduler that starts.

        Raises
        ------
        ImportError
            If bokeh is absent.
        """
        from dcsvm_dask.diagnostics.dashboard.plugin import add_page

        self._application = add_page(scheduler, self.runs)

    def remove_client(self, scheduler: Any, client: str) -> None:  # noqa: ARG002 (the others count)
        """Remove the page after the last client that carries a run."""
        if self._stays or carriers(scheduler):
            return
        scheduler.remove_plugin(NAME)
        if self._application is not None:
            from dcsvm_dask.diagnostics.dashboard.plugin import remove_page

            remove_page(scheduler, self._application)

    def log_event(self, topic: str, msg: Any) -> None:
        """Pass a logged event to the runs."""
        self.runs.take(topic, msg)


ROUTE = "/dcsvm"
TITLE = "DC-SVM"


LOOK_SECONDS = 60.0


def add_page(scheduler: Any, runs: Runs) -> Any:
    """Serve the page beside Dask's own and add it to their menu.

    Returns
    -------
    bokeh.server.tornado.BokehTornado or None
        None where the dashboard has no pages.
    """
    served = scheduler.http_application.applications
    dask = next((found for found in served if isinstance(found, BokehTornado)), None)
    if dask is None:
        return None
    about = template_variables(scheduler)
    # Dask's own pages fill their menu "More..." from this list.
    if not any(plot["url"] == ROUTE[1:] for plot in about["plots"]):
        about["plots"].append({"url": ROUTE[1:], "name": TITLE})
        about["plots"].sort(key=itemgetter("name"))
    application = BokehApplication(
        {ROUTE: functools.partial(page_doc, runs)},
        scheduler,
        prefix=dask.prefix,
        template_variables=about,
    )
    scheduler.http_application.add_application(application)
    application.initialize(IOLoop.current())
    application.start()
    colour_tasks()
    return application


def remove_page(scheduler: Any, application: Any) -> None:
    """Remove the page from the dashboard; open pages stay."""
    scheduler.http_application.applications.remove(application)
    plots = template_variables(scheduler)["plots"]
    plots[:] = [plot for plot in plots if plot["url"] != ROUTE[1:]]
    _stop(application)


def _stop(application: Any) -> None:
    """Stop an application as soon as no browser shows it."""
    if application.get_sessions(ROUTE):
        IOLoop.current().call_later(LOOK_SECONDS, _stop, application)
    else:
        application.stop()
