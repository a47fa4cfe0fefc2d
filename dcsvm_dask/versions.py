"""What a model depends on beside data, parameters and seed: results, libraries, the processor.

The promise of the same model bit for bit holds for one result version, one set of library versions
and one kind of processor. Another result version is refused where work goes on; other libraries
or another processor are reported, since their results are as good and differ by rounding only.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
from collections.abc import Mapping

from dcsvm_dask import __version__

RESULT_VERSION = 22
"""Version of the package's results. Raise it with every change after which the same data,
parameters and seed give other numbers than before, or a run's folder is laid out otherwise."""

COMPARED = ("dcsvm_dask", "numpy", "scipy", "numba", "blas", "cpu")
"""Those of `versions` that rounding depends on."""


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of what this process computes with, by name."""
    import llvmlite.binding

    libraries = ("numpy", "scipy", "numba", "dask", "zarr")
    return {
        "dcsvm_dask": __version__,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in libraries},
        "blas": _blas(),
        "cpu": f"{platform.machine()} {llvmlite.binding.get_host_cpu_name()}",
    }


def differing(recorded: Mapping[str, str], found: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what rounding depends on and is not as recorded: by name, the recorded and the found.

    What was not recorded is not compared.
    """
    return {
        name: [recorded[name], found.get(name, "none")]
        for name in COMPARED
        if name in recorded and recorded[name] != found.get(name)
    }


def _blas() -> str:
    """Return name, version and kernel of the BLAS libraries that NumPy and SciPy compute with."""
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    # Others (those of scikit-learn's neighbours, say) may be loaded, too, and are not used here.
    homes = tuple(module.__path__[0] for module in (np, scipy))
    own = [pool for pool in pools if pool["filepath"].startswith(homes)]
    words = ("internal_api", "version", "architecture")
    found = {" ".join(str(pool[word]) for word in words if pool.get(word)) for pool in own or pools}
    return ", ".join(sorted(found)) or "unknown"
