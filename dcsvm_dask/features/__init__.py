"""Maps of the kernel approximations: rows in, features for a linear SVM out.

Arrays in, arrays out: no Dask, no Zarr, no files. How weights over features are found is the
business of solvers.
"""

from dcsvm_dask.features.fastfood import Fastfood
from dcsvm_dask.features.feature_map import FeatureMap
from dcsvm_dask.features.fourier import Fourier
from dcsvm_dask.features.ltpu import Ltpu
from dcsvm_dask.features.nystrom import Nystrom
from dcsvm_dask.features.warm import warm_up

__all__ = ["Fastfood", "FeatureMap", "Fourier", "Ltpu", "Nystrom", "warm_up"]
