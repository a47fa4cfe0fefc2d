"""What is compiled, when, and into which instructions."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numba
import numpy as np
import pytest
from llvmlite import binding
from scipy import sparse

from dcsvm_dask.kernels import (
    Kernel,
    block_diagonal,
    block_diagonal_product,
    boxes,
    far,
    kd_order,
    kernel_matrix,
    kernel_product,
    order,
    tiles,
    values,
    warm_up,
    warm_up_l1,
)
from dcsvm_dask.kernels.kinds import EXPONENTIAL, KERNELS, L1_DISTANCE
from dcsvm_dask.kernels.vectors import LOOP_FLAGS


def entry_points() -> list[Any]:
    """Functions that Python calls; the others are part of them."""
    found = []
    for module in (block_diagonal, boxes, far, order, tiles):
        for value in vars(module).values():
            is_compiled = isinstance(value, numba.core.dispatcher.Dispatcher)
            if is_compiled and not value.targetoptions.get("no_cpython_wrapper"):
                found.append(value)
    return found


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_after_warm_up_nothing_compiles(storage: Any) -> None:
    is_sparse = storage is not np.asarray
    warm_up(sparse=is_sparse)
    warm_up_l1()
    before = {f.__name__: list(f.signatures) for f in entry_points()}
    names = {"by_products", "by_differences", "_gaps", "extremes", "_moments", "_sum_blocks"}
    assert set(before) >= names
    X = np.random.default_rng(0).random((600, 30), dtype=np.float32)
    rows = storage(X)
    if not is_sparse:
        kd_order(X)
    for name in KERNELS:
        for dtype in (np.float32, np.float64):
            kernel = Kernel(name, 0.1)
            groups, ones = np.array([0, 10, 600]), np.ones(600)
            kernel_product(kernel, rows, rows, ones, dtype=dtype, groups=groups)
            kernel_product(kernel, rows, rows, ones, dtype=dtype, budget=1, tol=1e-9)
            kernel_matrix(kernel, rows, dtype=dtype)
            kernel_matrix(kernel, rows, rows, tile_dtype=np.float64)
            if kernel.kind.argument != L1_DISTANCE or is_sparse:
                block_diagonal_product(kernel, rows, np.arange(600), groups, rows, groups, ones)
    assert {f.__name__: list(f.signatures) for f in entry_points()} == before


def test_limits_on_blas_threads_reach_the_blas_in_use() -> None:
    program = """
from threadpoolctl import threadpool_info
import dcsvm_dask.kernels
before = {library["filepath"] for library in threadpool_info()}
dcsvm_dask.kernels.warm_up(sparse=False)
assert before == {library["filepath"] for library in threadpool_info()}
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_the_exponential_uses_the_widest_vectors() -> None:
    if not binding.get_host_cpu_features().get("avx512f"):
        pytest.skip("this CPU has no AVX-512")
    flags = {"fastmath": LOOP_FLAGS, "error_model": "numpy"}
    compiled = numba.njit(**flags)(values.to_values.py_func)
    compiled(
        np.zeros((4, 64), np.float32),
        EXPONENTIAL,
        np.float32(1),
        3,
        np.float32(0),
        np.zeros(64, np.float32),
        np.zeros(4, np.float32),
    )
    assembly = compiled.inspect_asm(compiled.signatures[0])
    assert any("zmm" in line and "vfmadd" in line for line in assembly.splitlines())
