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


def add_page(scheduler: Any, runs: Runs) -> None:
    """Serve the page beside Dask's own, and name it in their menu; not where there are none."""
    served = scheduler.http_application.applications
    dask = next((found for found in served if isinstance(found, BokehTornado)), None)
    if dask is None:
        return
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
