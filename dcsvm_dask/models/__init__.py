"""Prediction from arrays, and a model's forms for other programs (LIBSVM text, scikit-learn SVC).

Where a model's arrays are stored is the business of storage.
"""

from dcsvm_dask.models.libsvm import label_integers, libsvm_lines, range_lines
from dcsvm_dask.models.model import MODES, Model, decide, decide_early, decide_whole
from dcsvm_dask.models.scores import Scores

__all__ = [
    "MODES",
    "Model",
    "Scores",
    "decide",
    "decide_early",
    "decide_whole",
    "label_integers",
    "libsvm_lines",
    "range_lines",
]
