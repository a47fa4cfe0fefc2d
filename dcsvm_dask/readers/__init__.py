"""Foreign files as blocks of rows: svmlight, CSV, NumPy, Parquet; their labels and scaling.

Storing the blocks is the task of `storage`.
"""

from __future__ import annotations

from dcsvm_dask.readers.open import find_format, open_source, source_parts
from dcsvm_dask.readers.scaling import Scaling
from dcsvm_dask.readers.source import ArraySource, Source

__all__ = ["ArraySource", "Scaling", "Source", "find_format", "open_source", "source_parts"]
