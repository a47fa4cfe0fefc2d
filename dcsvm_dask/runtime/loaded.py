"""What the process has that local workers are forked from: the package, with its compiled code.

Importing this module loads it. Nothing is compiled here: who starts workers has compiled before.
"""

from __future__ import annotations

import dcsvm_dask.methods.registry
import dcsvm_dask.runtime.worker  # noqa: F401 - loads what workers need
from dcsvm_dask.runtime.compilation import BASE, is_compiled, warm_up

warm_up(part for part in BASE if is_compiled([part]))
