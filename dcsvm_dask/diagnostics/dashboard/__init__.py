"""The page DC-SVM inside Dask's dashboard: what it shows, and how it gets there.

A run puts it into the dashboard of its scheduler, and it goes with the last client that carries a
run. A scheduler that is started by hand has it from beginning to end:
``dask scheduler --preload dcsvm_dask.diagnostics.dashboard``.
"""

from __future__ import annotations

import logging
from typing import Any


def dask_setup(scheduler: Any) -> None:
    """Add the page to a scheduler that starts; Dask calls it."""
    try:
        import bokeh  # noqa: F401 (what pages are made of)
    except ImportError:
        logging.getLogger("distributed.preloading").warning(
            "no page DC-SVM: bokeh is absent here; pip install 'dcsvm-dask[report]'"
        )
        return
    from dcsvm_dask.diagnostics.dashboard.plugin import PagePlugin

    scheduler.add_plugin(PagePlugin(stays=True))
