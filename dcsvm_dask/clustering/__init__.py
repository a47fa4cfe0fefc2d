"""Kernel k-means, assignment of rows, the quality of a partition and the choice between partitions.

Arrays in, arrays out: no Dask, no Zarr, no files.
"""

from dcsvm_dask.clustering.balance import Balance, balance
from dcsvm_dask.clustering.bisect import bisect
from dcsvm_dask.clustering.choice import choose_partition, sample_size
from dcsvm_dask.clustering.input_partition import InputPartition
from dcsvm_dask.clustering.kernel_kmeans import kernel_kmeans
from dcsvm_dask.clustering.kernel_partition import KernelPartition
from dcsvm_dask.clustering.kmeans import kmeans
from dcsvm_dask.clustering.locality import locality
from dcsvm_dask.clustering.partition import Partition
from dcsvm_dask.clustering.quality import Mass, between_mass, partition_quality, theorem_bound
from dcsvm_dask.clustering.warm import warm_up

__all__ = [
    "Balance",
    "InputPartition",
    "KernelPartition",
    "Mass",
    "Partition",
    "balance",
    "between_mass",
    "bisect",
    "choose_partition",
    "kernel_kmeans",
    "kmeans",
    "locality",
    "partition_quality",
    "sample_size",
    "theorem_bound",
    "warm_up",
]
