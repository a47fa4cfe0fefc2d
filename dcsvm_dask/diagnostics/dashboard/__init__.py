"""The page DC-SVM in Dask's dashboard.

A run adds the page to the dashboard of its scheduler, and the page is removed with the last client
that carries a run. A scheduler that is started by hand has the page for its whole life with
``dask scheduler --preload dcsvm_dask.diagnostics.dashboard``.
"""

from __future__ import annotations

import logging
from typing import Any


def dask_setup(scheduler: Any) -> None:
    """Add the page to a scheduler that starts; Dask calls this function."""
    try:
        import bokeh  # noqa: F401 (what pages are made of)
    except ImportError:
        logging.getLogger("distributed.preloading").warning(
            "no page DC-SVM: bokeh is absent here; pip install bokeh"
        )
        return
    from dcsvm_dask.diagnostics.dashboard.plugin import PagePlugin

    scheduler.add_plugin(PagePlugin(stays=True))
