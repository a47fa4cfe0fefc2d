"""Kernel functions, blocks of the kernel matrix, fused kernel-times-vector products.

Arrays in, arrays out: no Dask, no Zarr, no files.
"""

from dcsvm_dask.kernels.block_diagonal import block_diagonal_product
from dcsvm_dask.kernels.boxes import Boxes
from dcsvm_dask.kernels.column_cache import ColumnCache, piece_of
from dcsvm_dask.kernels.distances import distances_apart
from dcsvm_dask.kernels.explicit import count_explicit_features, explicit_features
from dcsvm_dask.kernels.gamma import GAMMA_RULES, RunningVariance, check_rule, gamma_by
from dcsvm_dask.kernels.identity import is_identity, spread_rows
from dcsvm_dask.kernels.kept import KeptRows
from dcsvm_dask.kernels.kernel import Kernel, kernel_diagonal
from dcsvm_dask.kernels.kinds import (
    KERNELS,
    KernelKind,
    is_linear,
    kernels_of_libsvm,
    kernels_with_map,
    parameters_of,
)
from dcsvm_dask.kernels.matrix import (
    counted_kernel_matrix,
    dot_products_error,
    kernel_matrix,
    matrix_sums_error,
)
from dcsvm_dask.kernels.order import kd_order
from dcsvm_dask.kernels.product import kernel_product, product_error_bound
from dcsvm_dask.kernels.products import kernel_products
from dcsvm_dask.kernels.rows import Rows, is_sparse, stacked, stored_for_speed, stored_like
from dcsvm_dask.kernels.shift import shifted, solved_rows
from dcsvm_dask.kernels.tile_order import tile_order
from dcsvm_dask.kernels.warm import warm_up, warm_up_l1, warm_up_matrix, warm_up_products

__all__ = [
    "GAMMA_RULES",
    "KERNELS",
    "Boxes",
    "ColumnCache",
    "KeptRows",
    "Kernel",
    "KernelKind",
    "Rows",
    "RunningVariance",
    "block_diagonal_product",
    "check_rule",
    "count_explicit_features",
    "counted_kernel_matrix",
    "distances_apart",
    "dot_products_error",
    "explicit_features",
    "gamma_by",
    "is_identity",
    "is_linear",
    "is_sparse",
    "kd_order",
    "kernel_diagonal",
    "kernel_matrix",
    "kernel_product",
    "kernel_products",
    "kernels_of_libsvm",
    "kernels_with_map",
    "matrix_sums_error",
    "parameters_of",
    "piece_of",
    "product_error_bound",
    "shifted",
    "solved_rows",
    "spread_rows",
    "stacked",
    "stored_for_speed",
    "stored_like",
    "tile_order",
    "warm_up",
    "warm_up_l1",
    "warm_up_matrix",
    "warm_up_products",
]
