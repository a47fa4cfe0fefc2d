"""The table of kernels: what it says is so, and nothing else compares their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dcsvm_dask
from dcsvm_dask import features
from dcsvm_dask.cli.options import KernelName
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import (
    KERNELS,
    Kernel,
    KernelKind,
    kernel_matrix,
    kernels_of_libsvm,
    kernels_with_map,
    parameters_of,
)
from dcsvm_dask.kernels.kinds import INNER_PRODUCT, L1_DISTANCE, SQUARED_DISTANCE

PACKAGE = Path(dcsvm_dask.__file__).parent
EVERY = pytest.mark.parametrize("kind", KERNELS.values(), ids=list(KERNELS))


def argument(kind: KernelKind, X: np.ndarray) -> np.ndarray:
    apart = X[:, None, :] - X[None, :, :]
    return {
        INNER_PRODUCT: X @ X.T,
        SQUARED_DISTANCE: (apart**2).sum(axis=2),
        L1_DISTANCE: abs(apart).sum(axis=2),
    }[kind.argument]


@EVERY
def test_values_in_numpy_are_those_of_compiled_code(kind: KernelKind) -> None:
    kernel = Kernel(kind.name, 0.3, 3, 0.5)
    X = np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32)
    wide = X.astype(np.float64)
    expected = kernel.value(argument(kind, wide))
    np.testing.assert_allclose(kernel_matrix(kernel, X, dtype=np.float64), expected, rtol=1e-11)


@EVERY
def test_a_kernel_uses_its_parameters_and_no_others(kind: KernelKind) -> None:
    t = argument(kind, np.random.default_rng(0).normal(size=(5, 3)))
    usual = Kernel(kind.name, 0.3, 3, 0.5)
    for name, other in (("gamma", 0.4), ("degree", 2), ("coef0", 0.6)):
        values = {"gamma": 0.3, "degree": 3, "coef0": 0.5, name: other}
        changed = Kernel(kind.name, **values)  # type: ignore[arg-type]
        assert np.array_equal(usual.value(t), changed.value(t)) == (not kind.uses(name))


@EVERY
def test_a_psd_kernel_has_no_negative_eigenvalue_and_others_may(kind: KernelKind) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    for coef0 in (1.0, -1.0):
        kernel = Kernel(kind.name, 0.5, 3, coef0)
        values = np.linalg.eigvalsh(kernel.value(argument(kind, X)))
        assert (values.min() > -1e-9 * values.max()) == kernel.is_psd
    assert kind.can_be_psd == Kernel(kind.name, 0.5, 3, 1.0).is_psd


@EVERY
def test_frequencies_give_the_kernel_of_a_distance(kind: KernelKind) -> None:
    if kind.frequencies is None:
        assert "fourier" not in kind.feature_maps
        return
    w = kind.frequencies(0.7, np.random.default_rng(0), (1, 200_000))
    distance = np.array([0.4, 1.1])
    powered = distance**2 if kind.argument == SQUARED_DISTANCE else distance
    expected = Kernel(kind.name, 0.7).value(powered)
    np.testing.assert_allclose(np.cos(distance[:, None] * w).mean(axis=1), expected, atol=5e-3)


@EVERY
def test_a_shift_invariant_kernel_falls_as_its_bounds_need(kind: KernelKind) -> None:
    if not kind.is_shift_invariant:
        assert kind.error is not None
        return
    u = np.geomspace(1e-6, 100.0, 4000)
    K = Kernel(kind.name, 1.0).value(u)
    assert K[0] == pytest.approx(1.0, abs=1e-5)
    slope = np.gradient(K, u)
    assert (slope <= 0).all()
    assert (u * -slope <= 2 / np.e * np.sqrt(K) * (1 + 1e-3)).all()


@EVERY
def test_its_maps_and_only_these_take_it(kind: KernelKind) -> None:
    kernel = Kernel(kind.name, 0.5, 3, 1.0)
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    makers = {
        "nystrom": lambda rng: features.Nystrom.fit(kernel, X, 8, rng),
        "fourier": lambda rng: features.Fourier.draw(kernel, 4, 8, rng),
        "fastfood": lambda rng: features.Fastfood.draw(kernel, 4, 8, rng),
        "ltpu": lambda rng: features.Ltpu.fit(kernel, X, 4, rng),
    }
    for rule, make in makers.items():
        rng = np.random.default_rng(0)
        if kernel.has_map(rule):
            assert make(rng).rule == rule
        else:
            with pytest.raises(InputError, match=kind.name):
                make(rng)


def test_lists_of_kernels() -> None:
    assert kernels_of_libsvm() == ("rbf", "poly", "linear", "sigmoid")
    # A new kernel may join these.
    assert {"rbf", "poly", "linear", "laplacian"} <= {*kernels_with_map("nystrom")}
    assert {"rbf", "laplacian"} <= {*kernels_with_map("fourier")}
    assert "sigmoid" not in kernels_with_map("nystrom")
    assert parameters_of("poly") == ("gamma", "degree", "coef0")
    assert parameters_of("of a later version") == ()
    assert KernelName().choices == tuple(KERNELS)


@pytest.mark.long
def test_nothing_compares_a_kernel_by_its_name() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in _comparisons(path, set(KERNELS))
    ]
    assert not found, "\n".join(found)


def test_the_reading_of_comparisons_finds_them(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        "if kernel.name != 'linear': pass\nx = name in ('rbf', 'other')\n"
        "y = {'poly': 3}[name]\nmatch name:\n    case 'sigmoid': pass\n"
        "z = click.Choice(['rbf', 'linear'])\n"
        "def f(kernel='rbf', compiles=('linear',)): Kernel('linear')\n"
    )
    assert list(_comparisons(path, set(KERNELS))) == [1, 2, 3, 5, 6]


def _comparisons(path: Path, names: set[str]) -> Iterator[int]:
    """Yield lines that compare with a name, look one up, or list some."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Compare | ast.MatchValue):
            parts = list(ast.walk(node))
        elif isinstance(node, ast.Dict):
            parts = list(node.keys)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > 1:
            parts = list(node.elts)
        words = (part.value for part in parts if isinstance(part, ast.Constant))
        if any(isinstance(word, str) and word in names for word in words):
            found.add(getattr(node, "lineno", 0))
    yield from sorted(found)
