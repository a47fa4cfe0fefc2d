"""Clusters and decision regions in a plane."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.report.draw import plane as draw
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, Words
from dcsvm_dask.diagnostics.report.records import Records

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
        return Section(name, title, "The training data are not there any more.")
    if len(data.classes) > 2:
        return Section(name, title, "Many classes have no one decision function to draw.")
    if plane is None and data.n_features < 2:
        return Section(name, title, "The data have one feature: there is no plane.")
    if plane is None and not (records.levels or records.best):
        return Section(name, title, "No model is committed yet.")
    if plane is None:
        lead = "This picture costs kernel values, so it is computed on demand:"
        return Section(name, title, "", [Words(lead, f"dcsvm report {records.run.place}")])
    lead = f"The data have two features; {len(plane['x']):,} rows are shown."
    if data.n_features > 2:
        lead = (
            f"The plane of the first two principal components of {len(plane['x']):,} rows, which "
            f"hold {plane['share']:.0%} of their variance; in all other directions the decision "
            "functions are looked at in the mean of the rows. Where a kernel is narrow, few "
            "support vectors are near that plane and f is about 0 there (no colour)."
        )
    by_block = [model for model in plane["models"] if model["block"] is not None]
    parts: list[Part] = [Words(CLUSTERS)] if by_block else []
    for model in by_block:
        about = f"Level {model['level']}: {model['n_blocks']} blocks"
        parts.append(Picture(draw.clusters(plane, model), about, "", third=True))
    parts.append(Words(REGIONS))
    for model in plane["models"]:
        about = f"Level {model['level']}: early model" if model["level"] else "Exact model"
        caption = f"Full colour from |f| = {draw.reach(model):.2g} on."
        parts.append(Picture(draw.regions(plane, model), about, caption, third=True))
    return Section(name, title, lead, parts)
