"""Train the runs with the code at hand and write what they are."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.compare_runs.arrays import Named, numbers_of, of_estimator, of_folder, of_run
from tests.compare_runs.compare import size_of
from tests.compare_runs.data import DATA
from tests.compare_runs.runs import COMPRESSED, RUNS, estimators


def make(folder: Path, wanted: str = "") -> int:
    """Train runs with the code at hand and write what they are; return how many failed.

    Parameters
    ----------
    folder : Path
        Is made.
    wanted : str, default ""
        A part of the names of the runs; by default all.
    """
    from dcsvm_dask.runtime.compilation import use_own_cache

    use_own_cache()  # what is compiled of other sources is not taken for these
    folder.mkdir(parents=True)
    failed = 0
    with tempfile.TemporaryDirectory(dir=folder) as work, _everything_kept():
        for name, trained in _trainings(Path(work)):
            if wanted not in name:
                continue
            begin = time.perf_counter()
            try:
                arrays = dict(trained())
            except Exception as error:  # noqa: BLE001  # the others are compared all the same
                print(f"{name}: failed: {error!r}", flush=True)
                failed += 1
                continue
            np.savez(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]
            print(f"{name}: {size_of(arrays)}, {time.perf_counter() - begin:.1f} s", flush=True)
    return failed


def _trainings(work: Path) -> Iterator[tuple[str, Callable[[], Named]]]:
    """Yield the name of everything that is compared, and what makes its arrays."""
    data = partial(_data_set, work, {})
    for name, (of, parameters) in RUNS.items():
        yield name, partial(_trained, name, of, parameters, data, work)
    for name, estimator, rows in estimators():
        yield name, partial(of_estimator, estimator, rows)
    for of in DATA:
        yield f"data-{of}", partial(_stored, of, data)


def _trained(
    name: str, of: str, parameters: dict[str, Any], data: Callable[[str], Any], work: Path
) -> Named:
    from dcsvm_dask import Execution, resume, search, train

    how: Any = {"execution": Execution(workers=0), "quiet": True, "report": False}
    (place, test, raw), folder = data(of), work / name
    if name.startswith("search"):
        run = search(place, folder, **parameters, **how)
    else:
        run = train(place, folder, holdout=test, **parameters, **how)
    if name == "resumed":
        run = resume(folder, stop_at=0, **how)
    yield from of_run(run, raw, work / "exported")
    if name in COMPRESSED:
        yield from _compressed(run, folder, raw)


def _stored(name: str, data: Callable[[str], Any]) -> Named:
    return of_folder(Path(data(name)[0]))


@contextlib.contextmanager
def _everything_kept() -> Iterator[None]:
    """Let runs keep the arrays that they delete when a stage is over."""
    from dcsvm_dask.storage.run import RunFolder

    with contextlib.ExitStack() as stack:
        for name in ("settle", "release", "fold"):
            kind = next((kind for kind in RunFolder.__mro__ if name in vars(kind)), None)
            if kind is None:
                print(f"RunFolder.{name} is no more: arrays of superseded stages are not compared")
            else:
                stack.enter_context(patch.object(kind, name, lambda *_, **__: None))
        yield


def _data_set(work: Path, made: dict[str, Any], name: str) -> tuple[str, str | None, Any]:
    """Return a data set, its test part and rows to predict; each is made once."""
    from dcsvm_dask import ingest

    if name not in made:
        words = DATA[name]()
        place, source = str(work / f"{name}.zarr"), words["source"]
        ingest(out=place, **words)
        test = f"{place}/test" if "test_fraction" in words else None
        raw = source[0][:300] if isinstance(source, tuple) else test
        made[name] = place, test, raw
    return made[name]


def _compressed(run: Any, place: Path, raw: Any) -> Named:
    """Yield what a run is whose model has fewer support vectors."""
    from dcsvm_dask import open_run

    small = place.with_suffix(".small")
    yield from numbers_of(run.compress(small, bound=0.2), "compress#")
    for name, array in of_run(open_run(small), raw, place.with_suffix(".exported")):
        yield f"compressed/{name}", array
