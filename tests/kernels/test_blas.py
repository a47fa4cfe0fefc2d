"""BLAS has one thread meanwhile, and those that it had before afterwards."""

from __future__ import annotations

from threadpoolctl import threadpool_info, threadpool_limits

from dcsvm_dask.kernels.blas import one_blas_thread


def most_threads() -> int:
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def test_one_thread_meanwhile() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = most_threads()
        with one_blas_thread():
            meanwhile = most_threads()
        assert (meanwhile, most_threads()) == (1, before)
