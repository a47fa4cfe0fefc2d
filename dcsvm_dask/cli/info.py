"""dcsvm info: what a data set holds."""

from __future__ import annotations

import json
from typing import Any

import click

from dcsvm_dask.cli.options import echo, quiet_option


@click.command()
@click.argument("data", metavar="DATA.zarr")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@quiet_option
def command(data: str, as_json: bool, quiet: bool) -> None:
    """Show what the data set DATA.zarr, or one part of it, holds."""
    del quiet  # what is printed is the result
    found = describe(data)
    if as_json:
        echo(json.dumps(found, indent=1))
    else:
        show(found)


def describe(place: Any) -> dict[str, Any]:
    """Return what a data set holds, JSON-able; only the named part if one is named."""
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
        "scaling": None if data.scaling is None else data.scaling.kind,
        "parts": parts,
    }


def show(found: dict[str, Any]) -> None:
    """Print what `describe` found."""
    form = "sparse (CSR)" if found["sparse"] else "dense"
    echo(found["data"])
    echo(
        f"  {found['features']:,} features, {form}, chunks of {found['chunk_rows']:,} rows, "
        f"scaling {found['scaling'] or 'none'}"
    )
    if found["positive"] is not None:
        echo(f"  class 1 is {', '.join(map(str, found['positive']))} of the source")
    for name, part in found["parts"].items():
        rows, distinct = part["rows"], part["distinct_rows"]
        echo(f"  {name}: {rows:,} rows, {distinct:,} of them distinct, from {part['source']}")
        pairs = list(zip(found["classes"], part["counts"], strict=True))
        for label, count in pairs[:20]:
            echo(f"    class {label}: {count:,} rows ({count / max(1, rows):.1%})")
        if len(pairs) > 20:
            echo(f"    and {len(pairs) - 20} more classes")
        if part["weights"] is not None:
            least, most, total = (f"{part['weights'][key]:g}" for key in ("least", "most", "sum"))
            echo(f"    rows weigh {least} to {most}, {total} together")
        if found["sparse"]:
            echo(f"    {part['density']:.3%} of cells are not zero")
        echo(f"    fingerprint {part['fingerprint']}")
