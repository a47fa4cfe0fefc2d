"""The columns of a table as inputs of an ONNX graph, which makes features of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.models.onnx_graph import DECISION, LABEL, PREDICTION, Graph

WORDS_DOMAIN = "ai.onnx.ml"
"""Domain of the operator that looks words up."""


@dataclass(frozen=True)
class Column:
    """A column, and the features that it becomes.

    Attributes
    ----------
    name : str
        Of the graph's input, which has the shape (N, 1).
    codes : dict of str to float, or None
        Number of each word; None: the column holds numbers, in float64.
    other : float
        Number of words without one.
    categories : int
        A feature for each of so many codes; 0: the number is the feature.
    missing : sequence of str
        Words of missing cells; of numbers it is NaN.
    fill : ndarray, shape (n_features,), or None
        The features of a missing cell; None: they are NaN, and so are the outputs.
    indicator : bool
        Whether a further feature says which cells are missing.
    by_number : bool
        Whether the words are numbers, each of which has a code as 1 and as 1.0.
    """

    name: str
    codes: dict[str, float] | None = None
    other: float = math.nan
    categories: int = 0
    missing: Sequence[str] = field(default=())
    fill: NDArray[np.float64] | None = None
    indicator: bool = False
    by_number: bool = False

    def features(self, graph: Graph) -> list[str]:
        """Add the features to a graph, and return their names: float64, shape (N, width)."""
        if self.codes is None:
            values = graph.input(self.name, np.float64, 1)
            missing = graph.add("IsNaN", values)
        else:
            words = graph.input(self.name, np.str_, 1)
            values = _looked_up(graph, words, self.codes, self.other)
            found = _looked_up(graph, words, dict.fromkeys(self.missing, 1.0), 0.0)
            missing = graph.add("Greater", found, 0.0)
        if self.categories:
            places = np.arange(self.categories, dtype=np.float64)
            values = graph.cast(graph.add("Equal", values, places), np.float64)
        stands = np.array([math.nan]) if self.fill is None else self.fill
        values = graph.add("Where", missing, stands, values)
        return [values, graph.cast(missing, np.float64)] if self.indicator else [values]


def table_rows(graph: Graph, columns: Sequence[Column]) -> str:
    """Return the features of all columns side by side, (N, n_features), float64.

    Raises
    ------
    InputError
        If a column has the name of an output.
    """
    for column in columns:
        if column.name in (LABEL, DECISION, PREDICTION):
            raise InputError(
                f"export: the column {column.name!r} has the name of an output of the graph; "
                "rename it before the ingest"
            )
    features = [one for column in columns for one in column.features(graph)]
    return graph.add("Concat", *features, axis=1)


def _looked_up(graph: Graph, words: str, codes: dict[str, float], other: float) -> str:
    """Return the number of each word, in float64."""
    found = graph.add(
        "LabelEncoder",
        words,
        domain=WORDS_DOMAIN,
        keys_strings=list(codes),
        values_floats=list(codes.values()),
        default_float=other,
    )
    return graph.cast(found, np.float64)
