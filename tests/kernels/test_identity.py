"""Rows between which the kernel is 0 are found, repeats or not, and no others."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.kernels import Kernel, is_identity, spread_rows


def test_unscaled_rows_have_the_identity_as_kernel_matrix() -> None:
    raw = np.random.default_rng(0).uniform(0.0, 1e5, (300, 4)).astype(np.float32)
    repeated = np.concatenate([raw, raw[:150]])
    for kernel in (Kernel("rbf", 1.0), Kernel("laplacian", 1.0)):
        assert is_identity(kernel, raw)
        assert is_identity(kernel, repeated)
        assert not is_identity(kernel, raw / np.float32(1e5))
        assert not is_identity(kernel, np.ones_like(raw))  # all rows are one
    assert is_identity(Kernel("rbf", 1e305), raw)
    assert not is_identity(Kernel("linear"), raw)
    # A row in ten that sees another is enough.
    assert not is_identity(Kernel("rbf", 1.0), np.concatenate([raw, raw[::5] + np.float32(0.5)]))


def test_a_sample_is_spread_over_all_rows() -> None:
    assert spread_rows(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert spread_rows(1001, 3).tolist() == [0, 500, 1000]
