"""What the compiled loops promise: vector instructions, and nothing left to compile."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from dcsvm_dask.kernels import row_by_row
from dcsvm_dask.solvers import box_qp, solve_smo, warm_up_steps
from dcsvm_dask.solvers.smo import active, columns, loops, steps
from dcsvm_dask.tasks import Regression, svc_dual


def _signatures() -> dict[str, int]:
    return {
        f"{module.__name__}.{name}": len(function.signatures)
        for module in (active, box_qp, columns, loops, row_by_row, steps)
        for name, function in vars(module).items()
        if hasattr(function, "signatures")
    }


@pytest.mark.parametrize("kinks", [False, True])
@pytest.mark.parametrize("equality", [False, True])
def test_nothing_is_compiled_after_warm_up(
    blobs: Callable[..., Any], equality: bool, kinks: bool
) -> None:
    warm_up_steps(equality=equality, kinks=kinks)
    before = _signatures()
    K, y = blobs(1500, seed=8)
    dual = svc_dual(y, 1.0)
    if kinks:
        dual = Regression(0.3).dual(y.astype(np.float64), np.full(len(y), 2.0))
    solve_smo(K.astype(np.float32), dual, equality=equality, tol=1e-5)
    assert _signatures() == before


@pytest.mark.one_quick
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 assembly")
@pytest.mark.parametrize("kinks", [False, True])
@pytest.mark.parametrize("name", ["box_update", "box_partner", "pair_update", "pair_partner"])
def test_inner_loops_use_vectors(name: str, kinks: bool) -> None:
    G, lo = np.zeros(300, np.float32), np.zeros(300, np.float32)
    one = np.float32(1.0)
    zone = G + one if kinks else None
    arguments = {
        "box_update": (G, G, G, lo, lo, zone, one, one),
        "box_partner": (G, lo, lo, zone, G + one, G, one, one),
        "pair_update": (G, G, G, lo, lo, zone, one, one),
        "pair_partner": (G, lo, zone, G + one, G, one, one, one),
    }
    function = getattr(loops, name)
    # Compiled here and now: code loaded from the cache has no assembly to read.
    fresh = numba.njit(**{**loops._OPTIONS, "cache": False})(function.py_func)
    fresh(*arguments[name])
    assembly = "".join(fresh.inspect_asm().values())
    assert assembly.count("ymm") + assembly.count("zmm") > 20 or "maxps" in assembly


@pytest.mark.parametrize("kinks", [False, True])
@pytest.mark.parametrize("n", [1, 127, 128, 129, 700])
def test_choices_are_the_best(n: int, kinks: bool) -> None:
    rng = np.random.default_rng(n)
    G = rng.standard_normal(n).astype(np.float32)
    K = rng.random((2, n)).astype(np.float32)
    lo = np.where(rng.random(n) < 0.7, -loops.FAR, np.float32(0.0))
    hi = np.where(rng.random(n) < 0.7, loops.FAR, np.float32(0.0))
    s, t = np.float32(0.3), np.float32(-0.2)
    new = G + s * K[0] + t * K[1]
    zone = np.where(rng.random(n) < 0.5, np.float32(0.4), np.float32(0.0)) if kinks else None
    wide = np.float32(0.0) if zone is None else zone

    def project(slope: np.ndarray) -> np.ndarray:
        """Return the projected gradient: slopes up are `slope`, slopes down lower by the zone."""
        return np.clip(slope, lo, 0.0) + np.clip(slope - wide, 0.0, hi)

    projected = np.abs(project(new))
    updated = G.copy()
    i = loops.box_update(updated, K[0], K[1], lo, hi, zone, s, t)
    np.testing.assert_allclose(updated, new, atol=1e-6)
    assert projected[i] >= projected.max() * (1.0 - 1e-4)

    updated = G.copy()
    i, fall = loops.pair_update(updated, K[0], K[1], lo, hi, zone, s, t)
    rise = np.where(lo < 0.0, -new, -loops.FAR)
    assert rise[i] >= rise.max() - 1e-4 * abs(rise.max())
    assert fall == pytest.approx(np.where(hi > 0.0, new - wide, -loops.FAR).max(), abs=1e-6)

    diagonal = np.ones(n, np.float32)
    j = loops.box_partner(G, lo, hi, zone, diagonal, K[0], s, np.float32(1.0))
    gain = project(G - s * K[0]) ** 2 / np.maximum(1.0 - K[0] ** 2, 1e-6)
    assert gain[j] >= gain.max() * (1.0 - 1e-4)

    j = loops.pair_partner(G, hi, zone, diagonal, K[0], np.float32(2.0), s, np.float32(1.0))
    slope = np.where(hi > 0.0, np.maximum(G - wide - s, 0.0), 0.0)
    gain = slope**2 / np.maximum(2.0 - 2.0 * K[0], 2e-6)
    assert gain[j] >= gain.max() * (1.0 - 1e-4)
