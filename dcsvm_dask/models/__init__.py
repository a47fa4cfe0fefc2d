"""Prediction from arrays, and a model's forms for other programs (LIBSVM text, scikit-learn SVC).

Where a model's arrays are stored is the business of storage.
"""

from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.models.libsvm import label_integers, libsvm_lines, range_lines
from dcsvm_dask.models.model import MODES, Model, Rule
from dcsvm_dask.models.schemes import (
    SCHEMES,
    OneVsOne,
    OneVsRest,
    Outputs,
    Scheme,
    Single,
    scheme_for,
)
from dcsvm_dask.models.scores import Scores

__all__ = [
    "MODES",
    "SCHEMES",
    "Model",
    "OneVsOne",
    "OneVsRest",
    "Outputs",
    "Rule",
    "Scheme",
    "Scores",
    "Single",
    "decide",
    "label_integers",
    "libsvm_lines",
    "range_lines",
    "scheme_for",
]
