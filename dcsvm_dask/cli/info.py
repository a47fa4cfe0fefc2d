"""dcsvm info: what a data set holds; of a run see `info_run`."""

from __future__ import annotations

import json
from typing import Any

import click

from dcsvm_dask.cli.options import echo, quiet_option
from dcsvm_dask.numbers import counted

SHOWN = 8
"""Features whose ranges are printed."""
SHOWN_COLUMNS = 20
"""Columns that were made numbers of which is printed how."""
DROPPED = {
    "missing": "with missing cells (--missing drop)",
    "weight_0": "of weight 0",
    "train_rows": "beyond --train-rows",
}


@click.command()
@click.argument("place", metavar="DATA.zarr|RUN")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@quiet_option
def command(place: str, as_json: bool, quiet: bool) -> None:
    """Show what the data set DATA.zarr, one part of it, or the folder RUN holds."""
    del quiet  # what is printed is the result
    from dcsvm_dask.cli import info_run

    is_run = info_run.is_run(place)
    found = info_run.describe(place) if is_run else describe(place)
    if as_json:
        echo(json.dumps(found, indent=1))
    elif is_run:
        info_run.show(found)
    else:
        show(found)


def describe(place: Any) -> dict[str, Any]:
    """Return what a data set holds, JSON-able; only the named part if one is named."""
    from dcsvm_dask.data.summary import described, reading_of
    from dcsvm_dask.storage.dataset import DataSet
    from dcsvm_dask.storage.location import Location

    data = DataSet.open(place)
    names = data.parts if data.place == Location.of(place) else [data.part]
    parts = {}
    for name in names:
        part = data.open_part(name)
        parts[name] = {
            "rows": part.n_rows,
            "distinct_rows": part.n_distinct,
            "counts": part.counts,
            "targets": None if part.one_class else part.targets,
            "labels": part.labels_text,
            "weights": part.weights,
            "density": part.rows.density,
            "fingerprint": part.fingerprint,
            "source": part.source,
        }
    return {
        "data": str(data.place),
        "features": data.n_features,
        "sparse": data.is_sparse,
        "chunk_rows": data.chunk_rows,
        "classes": data.classes,
        "positive": data.positive,
        "reading": reading_of(data),
        "feature_names": data.feature_names,
        "columns": None if data.columns is None else data.columns.to_json(),
        "prepared": described(data),
        "ranges": data.ranges,
        "dropped": {**data.dropped, "rows": data.made_with.get("rows")},
        "warnings": data.warnings,
        "scaling": None if data.scaling is None else data.scaling.kind,
        "scaling_reason": data.scaling_reason or None,
        "parts": parts,
    }


def features_line(found: dict[str, Any]) -> str:
    """Return the first features with their ranges, for users."""
    names = found["feature_names"] or range(found["features"])
    shown = [
        f"{name} {low:.10g}..{high:.10g}"
        for name, (low, high) in zip(names, found["ranges"][:SHOWN], strict=False)
    ]
    more = found["features"] - len(shown)
    return "features: " + ", ".join(shown) + (f" and {more:,} more" if more else "")


def dropped_line(dropped: dict[str, Any]) -> str:
    """Return which rows of the source are in no part, for users."""
    parts = [f"{dropped[key]:,} {why}" for key, why in DROPPED.items() if dropped.get(key)]
    start, stop = dropped["rows"] or (None, None)
    if (start, stop) != (None, None):
        limits = f"{'' if start is None else start}:{'' if stop is None else stop}"
        parts.append(f"all outside of {limits} (--rows)")
    return "rows dropped: " + (", ".join(parts) or "none")


def show(found: dict[str, Any], *, warned: bool = False) -> None:
    """Print what `describe` found; without warnings where the user has been warned."""
    from dcsvm_dask.data.summary import reading_line

    form = "sparse (CSR)" if found["sparse"] else "dense"
    echo(found["data"])
    echo(
        f"  {found['features']:,} features, {form}, chunks of {found['chunk_rows']:,} rows, "
        f"scaling {found['scaling'] or 'none'}"
        + (f" ({found['scaling_reason']})" if found["scaling_reason"] else "")
    )
    echo(f"  {reading_line(found['reading'])}")
    echo(f"  {features_line(found)}")
    for line in found["prepared"][:SHOWN_COLUMNS]:
        echo(f"  column {line}")
    if len(found["prepared"]) > SHOWN_COLUMNS:
        more = len(found["prepared"]) - SHOWN_COLUMNS
        echo(f"  and {counted(more, 'more column')} made numbers")
    echo(f"  {dropped_line(found['dropped'])}")
    for warning in () if warned else found["warnings"]:
        echo(f"  warning: {warning}")
    if found["positive"] is not None:
        echo(f"  class 1 is {', '.join(map(str, found['positive']))} of the source")
    for name, part in found["parts"].items():
        rows, distinct = part["rows"], part["distinct_rows"]
        echo(f"  {name}: {rows:,} rows, {distinct:,} of them distinct, from {part['source']}")
        pairs = list(zip(found["classes"], part["counts"], strict=True))
        for label, count in pairs[:20]:
            echo(f"    class {label}: {count:,} rows ({count / max(1, rows):.1%})")
        if len(pairs) > 20:
            echo(f"    and {len(pairs) - 20} more {'class' if len(pairs) == 21 else 'classes'}")
        if part["targets"] is not None:
            low, high, mean, std = (f"{value:.6g}" for value in part["targets"].values())
            echo(f"    targets {low} to {high}, mean {mean}, standard deviation {std}")
        if part["labels"] is not None:
            echo(f"    labels of one-class: {part['labels']}")
        if part["weights"] is not None:
            least, most, total = (f"{part['weights'][key]:g}" for key in ("least", "most", "sum"))
            echo(f"    rows weigh {least} to {most}, {total} together")
        if found["sparse"]:
            echo(f"    {part['density']:.3%} of cells are not zero")
        echo(f"    fingerprint {part['fingerprint']}")
