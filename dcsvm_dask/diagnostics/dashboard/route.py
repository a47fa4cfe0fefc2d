"""The page as a route of a scheduler's dashboard."""

from __future__ import annotations

import functools
from operator import itemgetter
from typing import Any

from bokeh.server.tornado import BokehTornado
from distributed.dashboard.core import BokehApplication
from distributed.dashboard.scheduler import template_variables
from tornado.ioloop import IOLoop

from dcsvm_dask.diagnostics.dashboard.page import page_doc
from dcsvm_dask.diagnostics.dashboard.runs import Runs
from dcsvm_dask.diagnostics.dashboard.task_colours import colour_tasks

ROUTE = "/dcsvm"
TITLE = "DC-SVM"


LOOK_SECONDS = 60.0


def add_page(scheduler: Any, runs: Runs) -> Any:
    """Serve the page beside Dask's own, and name it in their menu; not where there are none.

    Returns
    -------
    bokeh.server.tornado.BokehTornado or None
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
    """Take the page out of the dashboard; who looks at it may look on."""
    scheduler.http_application.applications.remove(application)
    plots = template_variables(scheduler)["plots"]
    plots[:] = [plot for plot in plots if plot["url"] != ROUTE[1:]]
    _stop(application)


def _stop(application: Any) -> None:
    """Stop an application as soon as nobody looks at it."""
    if application.get_sessions(ROUTE):
        IOLoop.current().call_later(LOOK_SECONDS, _stop, application)
    else:
        application.stop()
