"""All that a run, an estimator or a data set consists of, as arrays by name."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Named = Iterator[tuple[str, NDArray[Any]]]


def of_run(run: Any, raw: Any, exported: Path) -> Named:
    """Yield all that a run has committed and what follows from it, by name."""
    import zarr

    folder = run.folder
    for stage in folder.stages():
        for node in folder.nodes(stage):
            found, name = folder.find(stage, node), f"{stage}/{node}"
            yield from numbers_of(found.record, f"{name}#")
            for array in found.small:
                yield f"{name}/{array}", found.read(array)
            for key in found.keys:
                below = key.removesuffix("zarr.json").rstrip("/")
                if key.endswith("zarr.json") and not found.released:
                    opened = zarr.open(f"{found.place}/{below}", mode="r")
                    if isinstance(opened, zarr.Array):
                        yield f"{name}/{below}", np.asarray(opened[...])
    if folder.header["settings"].get("method") == "search":
        yield from numbers_of(run.results(), "results#")
        if run.best is not None:
            for name, array in of_run(run.best, raw, exported):
                yield f"best/{name}", array
        return
    yield from predictions(run, raw)
    yield from forms(run, exported)


def predictions(run: Any, raw: Any) -> Named:
    """Yield decision values and labels by every model that a run has."""
    from dcsvm_dask.errors import InputError

    modes = [("exact", 0), *((m, n) for m in ("early", "naive", "committee") for n in (1, 2))]
    for mode, level in [(None, None), *modes]:
        for precision in ("float32", "float64"):
            how: Any = {"mode": mode, "level": level, "precision": precision}
            name = f"{mode or 'best'}-{level or 0}-{precision}"
            try:
                yield f"decision/{name}", run.decision_function(raw, **how)
                yield f"labels/{name}", np.asarray(run.predict(raw, **how)).astype(str)
            except InputError:
                if mode is None:
                    raise


def forms(run: Any, exported: Path) -> Named:
    """Yield a run's model as other programs have it; not every model has such forms."""
    from dcsvm_dask.errors import InputError

    with contextlib.suppress(InputError):
        yield from attributes(run.to_sklearn(), "svc/")
    for form in ("libsvm", "onnx"):
        try:
            run.export(exported, format=form, overwrite=True)
        except InputError:
            continue
        yield f"export/{form}", np.frombuffer(exported.read_bytes(), np.uint8)


def of_estimator(estimator: Any, rows: tuple[Any, ...]) -> Named:
    """Fit an estimator; yield what it has learned and how it decides."""
    X = rows[0]
    estimator.fit(*rows)
    yield from attributes(estimator, "")
    yield "decision", np.asarray(estimator.decision_function(X[:300]))
    yield "labels", np.asarray(estimator.predict(X[:300])).astype(str)


def attributes(estimator: Any, before: str) -> Named:
    """Yield learned arrays and numbers by the names of the attributes."""
    for name in sorted(vars(estimator)):
        value = getattr(estimator, name)
        if not name.endswith("_") or name.startswith("__"):
            continue
        if hasattr(value, "toarray"):
            value = value.toarray()
        if isinstance(value, Mapping):
            yield from numbers_of(value, f"{before}{name}#")
        elif isinstance(value, (np.ndarray, np.generic, float, int)):
            yield f"{before}{name}", _plain(np.asarray(value))


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(str) if array.dtype.kind in "OUT" else array


def numbers_of(value: Any, name: str) -> Named:
    """Yield the numbers of nested records."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from numbers_of(below, f"{name}.{key}" if name[-1] != "#" else f"{name}{key}")
    elif isinstance(value, (list, tuple)):
        for k, below in enumerate(value):
            yield from numbers_of(below, f"{name}[{k}]")
    elif isinstance(value, np.ndarray):
        yield name, _plain(value)
    elif isinstance(value, (bool, int, float, np.generic)):
        yield name, np.asarray(value)


def of_folder(place: Path) -> Named:
    """Yield all Zarr arrays below a folder."""
    import zarr

    for about in sorted(place.rglob("zarr.json")):
        opened = zarr.open(str(about.parent), mode="r")
        if isinstance(opened, zarr.Array):
            name = about.parent.relative_to(place).as_posix()
            yield re.sub(r"-[0-9a-f]{12}/", "/", name), np.asarray(opened[...])
