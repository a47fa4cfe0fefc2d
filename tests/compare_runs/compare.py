"""What differs between the arrays of two versions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.compare_runs.arrays import Arrays


def same(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is."""
    return values


def flat(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array without axes, and without negative zeros."""
    return values.ravel() + 0


@dataclass(frozen=True)
class Change:
    """An array that the newer version calls otherwise, or keeps in another form.

    The name is the last part of ``STAGE/NODE/ARRAY``. `of_before` and `of_after` give what is
    compared.
    """

    before: str
    after: str
    of_before: Callable[[NDArray[Any]], NDArray[Any]] = same
    of_after: Callable[[NDArray[Any]], NDArray[Any]] = same


CHANGES = (
    # Version 4 keeps beta = y alpha, with its gradient and its steps.
    Change("alpha", "beta", of_after=np.abs),
    Change("block_alpha", "block_beta", of_after=np.abs),
    Change("awake", "active"),
    Change("y", "targets"),
    Change("codes", "targets"),
    Change("gradient", "gradient", np.abs, np.abs),
    Change("step", "step", np.abs, np.abs),
    # Its coefficients at zero have no sign.
    Change("coef", "coef", flat, flat),
    # Models have axes of SVMs and of blocks.
    Change("dual_coef", "coef", flat, flat),
    Change("dual_coef", "dual_coef", flat, flat),
    Change("bias", "bias", flat, flat),
    Change("of_class", "counts", flat, flat),
    Change("offsets", "counts", np.diff, flat),
)
"""The first that applies counts."""

RECORDS = re.compile(
    r"\S+/solve-[\d-]+#(own_gap|gap|each\.gap.*|bounded)"
    r"|model-bag/solve-\d+#(rows|support|objective|violation)"
    r"|balance-\d+/commit#bounded"
)
"""Keys that records of solved blocks have in one version only; what both have is compared."""

RENAMED = {"/foresee-": "/predict-", "#stand_ins": "#weighted_rows", "look-": "check-"}
"""Parts of names that the newer version has otherwise."""

OTHERWISE = re.compile(r"began|.*seconds|.*_time_?|.*bytes.*")
"""Names of arrays and numbers that differ from one training to the next, and are not compared."""


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
            size = size_of(_compared({**old}))
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
        change = _change(name, left)
        if name not in left and change is None:
            if RECORDS.fullmatch(name):
                continue
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
    more = {name: new for name, new in left.items() if not RECORDS.fullmatch(name)}
    return [*lines, *(f"{name}: {_form(new)} is missing before" for name, new in more.items())]


def size_of(arrays: Arrays) -> str:
    """Return how many arrays there are and what they take, as words."""
    return f"{len(arrays)} arrays, {sum(one.nbytes for one in arrays.values()):,} bytes"


def _compared(arrays: Arrays) -> Arrays:
    found = {
        name: array
        for name, array in arrays.items()
        if not any(map(OTHERWISE.fullmatch, re.split(r"[/#.\[]", name)))
    }
    for old, new in RENAMED.items():
        found = {name.replace(old, new): array for name, array in found.items()}
    return found


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
