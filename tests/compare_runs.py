"""Compare what two versions of the code train, bit for bit.

In the checkout of each version, with its own Python::

    python -m tests.compare_runs make FOLDER

trains small runs by every method and writes what they committed: for each run one file
``FOLDER/RUN.npz`` with all arrays of all nodes, the numbers of their records, models in the forms
of other programs, decision values and labels. A version that lacks this file runs it by its path.
It is read by the code that wrote it, so that nothing but names binds the versions. Then::

    python -m tests.compare_runs compare BEFORE AFTER

prints a line for each run and each difference, and exits with status 1 if there is any. `CHANGES`
says which arrays have another name or form in the newer version.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Named = Iterator[tuple[str, NDArray[Any]]]


def same(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is."""
    return values


@dataclass(frozen=True)
class Change:
    """An array that the newer version calls otherwise, or keeps in another form.

    It holds for arrays that one version only has by the name, the last part of
    ``STAGE/NODE/ARRAY``. `of_before` and `of_after` give what is compared.
    """

    before: str
    after: str
    of_before: Callable[[NDArray[Any]], NDArray[Any]] = same
    of_after: Callable[[NDArray[Any]], NDArray[Any]] = same


CHANGES = (
    Change("alpha", "beta", of_after=np.abs),  # beta = y alpha
    # Change("start", "warm", of_before=lambda a: a[None]),  # an axis of machines
)
"""The first that applies counts."""

OTHERWISE = re.compile(r"began|.*seconds|.*_time_?|.*bytes.*")
"""Names of arrays and numbers that differ from one training to the next, and are not compared."""

DATA: dict[str, Callable[[], dict[str, Any]]] = {}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {}


# What is trained ----------------------------------------------------------------------------------


def moons(n: int = 1200, noise: float = 0.25) -> tuple[Any, Any]:
    """Return rows of which a kernel of gamma 8 sees few others."""
    from sklearn.datasets import make_moons

    return make_moons(n, noise=noise, random_state=0)


def sparse_rows() -> tuple[Any, Any]:
    """Return rows of few cells."""
    from scipy import sparse

    random = np.random.default_rng(0)
    X = sparse.random_array((900, 60), density=0.1, rng=random, format="csr")
    return X, np.where(X[:, :30].sum(axis=1) > X[:, 30:].sum(axis=1), 1, -1)


def weighted() -> dict[str, Any]:
    """Return rows of several weights, some of them repeated with the other class, too."""
    X, y = moons(800)
    X, y = np.vstack([X, X[:200], X[:50]]), np.concatenate([y, y[:200], 1 - y[:50]])
    return {"source": (X, y), "weights": np.random.default_rng(1).choice([0.5, 1, 3], len(y))}


def digits(n: int = 700) -> tuple[Any, Any]:
    """Return rows of ten classes."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n]


def three_classes() -> tuple[Any, Any]:
    """Return rows of three classes with names, which overlap."""
    from sklearn.datasets import make_blobs

    X, y = make_blobs(900, centers=3, n_features=4, cluster_std=3.0, random_state=0)
    return X, np.array(["red", "green", "blue"])[y]


def sparse_classes() -> tuple[Any, Any]:
    """Return rows of few cells and of three classes."""
    X, y = sparse_rows()
    return X, np.where(X[:, :20].sum(axis=1) > 1.2, 2, y)


def cancer() -> tuple[Any, Any]:
    """Return rows that all see each other."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def demo() -> dict[str, Any]:
    """Return the demo's rows as its pipeline file has them."""
    import dcsvm_dask

    source = Path(dcsvm_dask.__file__).parent / "demo" / "covtype.csv.xz"
    words = {"label": "lodgepole_pine", "scale": "minmax", "test_fraction": 0.2, "seed": 0}
    return {"source": source, **words}


def repeated() -> tuple[Any, Any]:
    """Return rows most of which are repeats of each other."""
    X, y = moons(1500)
    return np.round(X * 4) / 4, y


DATA |= {
    "demo": demo,
    "covtype": lambda: {**demo(), "train_rows": 1500},
    "moons": lambda: {"source": moons(), "test_fraction": 0.2, "scale": "standard"},
    "chunks": lambda: {"source": moons(6000), "chunk_rows": 1000},
    "repeated": lambda: {"source": repeated()},
    "weighted": weighted,
    "sparse": lambda: {"source": sparse_rows(), "scale": "unit"},
    "words": lambda: {"source": sparse_classes()},
    "cancer": lambda: {"source": cancer(), "scale": "standard", "test_fraction": 0.2},
    "digits": lambda: {"source": digits()},
    "colours": lambda: {"source": three_classes(), "scale": "minmax"},
}

LOCAL = {"kernel": "rbf", "gamma": 8.0, "C": 4.0}
SMOOTH = {"kernel": "rbf", "gamma": 0.01, "C": 2.0}
LEVELS = {"levels": 2, "k": 3, "n_samples_clustering": 300}
SETS = {"block_cap": 256, "set_cap": 200}
BIAS = {"fit_intercept": True}
NYSTROM = {**LOCAL, "method": "nystrom", "rank": 100}

RUNS |= {
    "demo": ("demo", {"gamma": 32.0, "C": 32.0, "k": 4}),
    "demo-smooth": ("demo", {"gamma": 0.05, "C": 1.0, "tol": 1e-2, **BIAS}),
    "whole": ("moons", LOCAL),
    "whole-bias": ("moons", {**LOCAL, **BIAS}),
    "whole-tight": ("moons", {**LOCAL, **BIAS, "tol": 1e-6}),
    "levels": ("moons", {**LOCAL, **LEVELS}),
    "levels-bias": ("moons", {**LOCAL, **LEVELS, **BIAS}),
    "levels-clusters": ("covtype", {"gamma": 32.0, "C": 32.0, "clusters": (8, 3)}),
    "levels-covtype": ("covtype", {"gamma": 32.0, "C": 32.0, **LEVELS, **SETS, **BIAS}),
    "levels-committee": ("moons", {**LOCAL, **LEVELS, "committee": True}),
    "stopped": ("moons", {**LOCAL, **LEVELS, "stop_at": 1}),
    "resumed": ("moons", {**LOCAL, **LEVELS, "stop_at": 2}),
    "rounds": ("chunks", {**LOCAL, **SETS}),
    "rounds-bias": ("chunks", {**LOCAL, **SETS, **BIAS}),
    "rounds-levels": ("chunks", {**LOCAL, **SETS, **LEVELS}),
    "smooth": ("cancer", SMOOTH),
    "smooth-levels": ("cancer", {**SMOOTH, **LEVELS, **BIAS}),
    "smooth-rounds": ("chunks", {"gamma": 0.1, "C": 1.0, "block_cap": 512, "set_cap": 256, **BIAS}),
    "repeated": ("repeated", {**LOCAL, **BIAS}),
    "repeated-levels": ("repeated", {**LOCAL, **LEVELS}),
    "weights": ("weighted", {**LOCAL, **BIAS}),
    "weights-levels": ("weighted", {**LOCAL, **LEVELS}),
    "class-weight": ("cancer", {**SMOOTH, **BIAS, "class_weight": "balanced"}),
    "class-weight-levels": ("moons", {**LOCAL, **LEVELS, "class_weight": {"0": 2.0, "1": 0.5}}),
    "sparse": ("sparse", {"gamma": 1.0, "C": 4.0}),
    "sparse-levels": ("sparse", {"gamma": 1.0, "C": 4.0, **LEVELS, **BIAS}),
    "poly": ("cancer", {"kernel": "poly", "gamma": 0.02, "coef0": 1.0, "degree": 2, **LEVELS}),
    "linear": ("cancer", {"kernel": "linear", "C": 0.1, **BIAS}),
    "sigmoid": ("cancer", {"kernel": "sigmoid", "gamma": 0.005, **BIAS}),
    "laplacian": ("moons", {"kernel": "laplacian", "gamma": 2.0, **LEVELS}),
    "pairs": ("digits", {"gamma": 0.3, "C": 4.0}),
    "pairs-bias": ("colours", {"gamma": 4.0, "C": 2.0, **BIAS}),
    "pairs-levels": ("colours", {"gamma": 4.0, "C": 2.0, **LEVELS}),
    "pairs-sets": ("colours", {"gamma": 4.0, "C": 2.0, **SETS, **BIAS}),
    "pairs-sparse": ("words", {"gamma": 0.5, **LEVELS}),
    "pairs-class-weight": ("colours", {"gamma": 4.0, "class_weight": "balanced", **LEVELS, **BIAS}),
    "rest": ("digits", {"gamma": 0.3, "C": 4.0, "multiclass": "ovr"}),
    "rest-levels": ("colours", {"gamma": 4.0, "C": 2.0, "multiclass": "ovr", **LEVELS, **BIAS}),
    "cascade": ("moons", {**LOCAL, "method": "cascade", "leaves": 4}),
    "cascade-bias": ("weighted", {**LOCAL, **BIAS, "method": "cascade", "leaves": 4}),
    "cascade-mean": ("moons", {**LOCAL, "method": "cascade", "leaves": 4, "decide": "mean"}),
    "cascade-committee": (
        "moons",
        {**LOCAL, "method": "cascade", "leaves": 4, "decide": "committee"},
    ),
    "bagging": ("moons", {**LOCAL, **BIAS, "method": "bagging", "members": 4}),
    "bagging-committee": (
        "moons",
        {**LOCAL, "method": "bagging", "members": 4, "replace": True, "vote": "committee"},
    ),
    "subsample": ("chunks", {**LOCAL, **BIAS, "method": "subsample", "fraction": 0.2}),
    "online": ("moons", {**LOCAL, **BIAS, "method": "online"}),
    "online-samples": ("weighted", {**LOCAL, "method": "online", "samples": 10, "passes": 2}),
    "greedy": ("moons", {**LOCAL, "method": "greedy", "basis": 40}),
    "greedy-bias": ("sparse", {"gamma": 1.0, **BIAS, "method": "greedy", "basis": 30, "pool": 20}),
    "nystrom": ("moons", NYSTROM),
    "nystrom-random": ("weighted", {**NYSTROM, **BIAS, "landmarks": "random"}),
    "nystrom-squared": ("chunks", {**NYSTROM, "loss": "squared_hinge", "chunks": 3}),
    "fourier": ("moons", {**LOCAL, **BIAS, "method": "fourier", "outputs": 200}),
    "fastfood": ("cancer", {**SMOOTH, "method": "fourier", "outputs": 128, "structured": True}),
    "ltpu": ("moons", {**LOCAL, "method": "ltpu", "centres": 80}),
    "ltpu-neighbours": (
        "moons",
        {**LOCAL, **BIAS, "method": "ltpu", "centres": 80, "neighbours": 3},
    ),
    "libsvm": ("weighted", {**LOCAL, **BIAS, "method": "libsvm"}),
    "liblinear": ("cancer", {"kernel": "linear", "C": 0.1, **BIAS, "method": "liblinear"}),
    "search": ("moons", {"C": [0.5, 4.0, 32.0], "gamma": [0.5, 4.0], "cv": 3, **BIAS}),
    "search-blocks": (
        "chunks",
        {"C": [0.5, 8.0], "gamma": [0.5, 8.0], "cv": 3, "exact": 1, "block_rows": 1500},
    ),
    "search-halving": (
        "chunks",
        {"C": [0.5, 8.0], "gamma": [0.5, 8.0], "cv": 3, "exact": 1, "block_rows": 1000}
        | {"halving": True, "refit": False},
    ),
    "search-classes": ("colours", {"C": [0.5, 4.0], "gamma": [0.5, 4.0], "cv": 3}),
}
COMPRESSED = ("levels-bias", "linear")
"""Runs whose models are compressed, too."""


def estimators() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the names of estimators that solve in memory, they and what they are fitted to."""
    from dcsvm_dask.estimators import DCSVC, DCSVMSearchCV, LinearDCSVC

    own = weighted()
    rows, rest = (*own["source"], own["weights"]), three_classes()
    yield "svc", DCSVC(C=4.0, gamma=8.0), moons()
    yield "svc-no-bias", DCSVC(C=4.0, gamma=8.0, fit_intercept=False), moons()
    yield "svc-weights", DCSVC(C=4.0, gamma=8.0, class_weight="balanced"), rows
    yield "svc-sparse", DCSVC(C=4.0), sparse_rows()
    yield "svc-pairs", DCSVC(C=4.0), digits()
    yield "svc-rest", DCSVC(C=2.0, gamma=0.2, multiclass="ovr"), rest
    yield "svc-early", DCSVC(C=4.0, gamma=8.0, stop_at=1), moons(13_000)
    yield "linear-svc", LinearDCSVC(C=0.1), digits()
    yield "linear-svc-hinge", LinearDCSVC(C=0.1, loss="hinge"), sparse_rows()
    grid = {"C": [0.5, 4.0], "gamma": [0.5, 8.0]}
    yield "search-svc", DCSVMSearchCV(DCSVC(), grid, cv=3), moons()
    yield "search-svc-blocks", DCSVMSearchCV(DCSVC(), grid, cv=3, block_rows=400), moons()


# What is kept of it -------------------------------------------------------------------------------


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
            print(f"{name}: {_size(arrays)}, {time.perf_counter() - begin:.1f} s", flush=True)
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


def _size(arrays: Arrays) -> str:
    return f"{len(arrays)} arrays, {sum(one.nbytes for one in arrays.values()):,} bytes"


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


def _compressed(run: Any, place: Path, raw: Any) -> Named:
    """Yield what a run is whose model has fewer support vectors."""
    from dcsvm_dask import open_run

    small = place.with_suffix(".small")
    yield from numbers_of(run.compress(small, bound=0.2), "compress#")
    for name, array in of_run(open_run(small), raw, place.with_suffix(".exported")):
        yield f"compressed/{name}", array


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


# How it is compared -------------------------------------------------------------------------------


def compare(before: Path, after: Path) -> int:
    """Print how what two versions made differs; return the number of differences."""
    names = sorted({path.name for folder in (before, after) for path in folder.glob("*.npz")})
    if not names:
        print(f"neither {before} nor {after} holds a run; `make` them first")
        return 1
    count = 0
    for name in names:
        run, missing = name.removesuffix(".npz"), False
        for folder in (before, after):
            if not (folder / name).exists():
                print(f"{run}: is missing in {folder}")
                count, missing = count + 1, True
        if missing:
            continue
        with np.load(before / name) as old, np.load(after / name) as new:
            found = differences({**old}, {**new})
            size = _size(_compared({**old}))
        print(f"{run}: {size}, {len(found) or 'no'} differences")
        for line in found:
            print(f"  {line}")
        count += len(found)
    print(f"{len(names)} runs, {count or 'no'} differences")
    return count


def differences(before: Arrays, after: Arrays) -> list[str]:
    """Return a line for each array of a run that is not the same, bit for bit."""
    before, left = _compared(before), _compared(after)
    lines = []
    for name, old in before.items():
        change = None if name in left else _change(name, left)
        if name not in left and change is None:
            lines.append(f"{name}: {_form(old)} is missing after")
            continue
        other = name if change is None else _renamed(name, change)
        new = left.pop(other)
        if change is not None:
            old, new = change.of_before(old), change.of_after(new)
        if (old.dtype, old.shape) != (new.dtype, new.shape):
            lines.append(f"{other}: {_form(old)} before, {_form(new)} after")
        elif old.tobytes() != new.tobytes():
            lines.append(f"{other}: {_form(old)}, {_deviation(old, new)}")
    return [*lines, *(f"{name}: {_form(new)} is missing before" for name, new in left.items())]


def _compared(arrays: Arrays) -> Arrays:
    return {
        name: array
        for name, array in arrays.items()
        if not any(map(OTHERWISE.fullmatch, re.split(r"[/#.\[]", name)))
    }


def _change(name: str, after: Arrays) -> Change | None:
    last = name.rpartition("/")[2]
    of_name = (change for change in CHANGES if change.before == last)
    return next((one for one in of_name if _renamed(name, one) in after), None)


def _renamed(name: str, change: Change) -> str:
    return "".join([*name.rpartition("/")[:2], change.after])


def _form(array: NDArray[Any]) -> str:
    return f"{array.dtype} {array.shape}"


def _deviation(old: NDArray[Any], new: NDArray[Any]) -> str:
    """Return how far two arrays of one form are from each other."""
    if old.dtype.kind not in "biuf":
        return f"{int((old != new).sum())} of {old.size} differ"
    a, b = np.atleast_1d(old).astype(np.float64), np.atleast_1d(new).astype(np.float64)
    differ = ~((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        far = float(np.nanmax(np.abs(a - b), initial=0.0))
    at = np.unravel_index(int(np.argmax(differ)), a.shape)
    where = ", ".join(map(str, at))
    return (
        f"{int(differ.sum())} of {old.size} differ, by {far:.3g} at most; "
        f"the first at [{where}]: {a[at]!r} before, {b[at]!r} after"
    )


def main(words: list[str] | None = None) -> int:
    """Make or compare; return the exit status."""
    parser = argparse.ArgumentParser(prog="compare_runs", description=__doc__.splitlines()[0])
    doing = parser.add_subparsers(dest="do", required=True)
    making = doing.add_parser("make", help="train runs with this version of the code")
    making.add_argument("folder", type=Path, help="does not exist yet")
    making.add_argument("--only", default="", metavar="WORD", help="runs whose names have it")
    comparing = doing.add_parser("compare", help="compare what two versions made")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args(words)
    if given.do == "compare":
        return min(1, compare(given.before, given.after))
    if given.folder.exists():
        parser.error(f"{given.folder} exists; name another folder")
    os.environ["DCSVM_REPORT"] = "0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return min(1, make(given.folder, given.only))


if __name__ == "__main__":
    sys.exit(main())
