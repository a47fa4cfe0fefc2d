"""Figures of clusters and decision regions in a plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d

from dcsvm_dask.diagnostics.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, Words
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.views.glyphs import dots, points
from dcsvm_dask.diagnostics.report.views.style import THIRD, hover, plot

HUES = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, "#b59f00", "#7a5195", "#2c8c7a", "#a05d2c")
# Transparent where f = 0, full from the margins on.
DIVERGING = tuple(f"{ORANGE}{alpha:02x}" for alpha in range(0x80, 0, -4)) + tuple(
    f"{BLUE}{alpha:02x}" for alpha in range(0, 0x81, 4)
)


def clusters(plane: dict[str, Any], model: dict[str, Any]) -> Any:
    """Return the figure of sampled rows coloured by block; hues repeat where there are many."""
    made = _panel(plane)
    # Neighbouring numbers get different hues.
    colours = [GREY if block < 0 else HUES[block * 7 % len(HUES)] for block in model["block"]]
    about = {"x": plane["x"], "y": plane["y"], "block": model["block"]}
    source = ColumnDataSource({**about, "colour": colours})
    marks = dots(made, source, "colour", 3, alpha=0.75)
    hover(made, [("block", "@block")], [marks])
    return made


def regions(plane: dict[str, Any], model: dict[str, Any]) -> Any:
    """Return the figure of the decision function, its zero line, and the rows by class."""
    made = _panel(plane)
    left, right, bottom, top = plane["box"]
    size = model["size"]
    values = np.asarray(model["grid"]).reshape(size, size)
    made.image(
        [values.astype(np.float32)],
        x=left,
        y=bottom,
        dw=right - left,
        dh=top - bottom,
        color_mapper=LinearColorMapper(palette=DIVERGING, low=-reach(model), high=reach(model)),
    )
    if values.min() < 0.0 < values.max():
        ticks = (np.linspace(left, right, size), np.linspace(bottom, top, size))
        made.contour(*ticks, values, levels=[0.0], line_color=GREY, line_width=1.2)
    for positive, colour in ((False, ORANGE), (True, BLUE)):
        own = [i for i, sign in enumerate(plane["positive"]) if sign == positive]
        own = own[: 500 if len(own) > 500 else len(own)]
        dots(made, points([plane["x"][i] for i in own], [plane["y"][i] for i in own]), colour, 3)
    return made


def reach(model: dict[str, Any]) -> float:
    """Return the |f| of full colour: 1, or the largest |f| where that is smaller."""
    return min(1.0, max(1e-9, *(abs(float(value)) for value in model["grid"])))


def _panel(plane: dict[str, Any]) -> Any:
    left, right, bottom, top = plane["box"]
    made = plot(*plane["axes"], width=THIRD, height=310, svg=False)
    made.x_range, made.y_range = Range1d(left, right), Range1d(bottom, top)
    made.ygrid.grid_line_color = None
    made.xaxis.ticker.desired_num_ticks = made.yaxis.ticker.desired_num_ticks = 4
    return made


CLUSTERS = "Sampled rows, coloured by their block; hues repeat where there are many."
REGIONS = (
    "The decision functions: blue is positive, orange negative, the line is f = 0; dots are rows "
    "by class."
)


def plane_section(records: Records, plane: dict[str, Any] | None) -> Section:
    """Return the section of the plane."""
    name, title = "plane", "Clusters and decision regions"
    data = records.data
    if data is None:
        return Section(name, title, "The training data are missing.")
    if not records.task.has_classes:
        return Section(name, title, "Decision regions are drawn of two classes only.")
    if len(data.classes) != 2:
        return Section(name, title, "Only models of two classes have a decision function to draw.")
    if plane is None and data.n_features < 2:
        return Section(name, title, "The data have one feature: there is no plane.")
    if plane is None and not (records.levels or records.best):
        if records.status["model"] is None:
            return Section(name, title, "No model is committed yet.")
        lead = "Decision regions are drawn of levels and of the exact model: this run has neither."
        return Section(name, title, lead)
    if plane is None:
        lead = "This picture costs kernel values, so it is computed on demand:"
        return Section(name, title, "", [Words(lead, f"dcsvm report {records.run.place}")])
    lead = f"The data have two features; {len(plane['x']):,} rows are shown."
    if data.n_features > 2:
        lead = (
            f"The plane of the first two principal components of {len(plane['x']):,} rows, which "
            f"hold {plane['share']:.0%} of their variance; in all other directions the decision "
            "functions are evaluated at the mean of the rows. Where a kernel is narrow, few "
            "support vectors are near that plane and f is about 0 there (no colour)."
        )
    by_block = [model for model in plane["models"] if model["block"] is not None]
    parts: list[Part] = [Words(CLUSTERS)] if by_block else []
    for model in by_block:
        about = f"Level {model['level']}: {model['n_blocks']} blocks"
        parts.append(Picture(clusters(plane, model), about, "", third=True))
    parts.append(Words(REGIONS))
    for model in plane["models"]:
        about = f"Level {model['level']}: early model" if model["level"] else "Exact model"
        caption = f"Full colour from |f| = {reach(model):.2g} on."
        parts.append(Picture(regions(plane, model), about, caption, third=True))
    return Section(name, title, lead, parts)
