"""The preparation of rows for a run's models, stored beside its stages.

``preparation.json`` holds classes, scaling and how the source was read, so that a run predicts
without its data set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import Expected
from dcsvm_dask.readers.labels import Label, LabelTable, class_of, named_label
from dcsvm_dask.readers.lines import RowError
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation
from dcsvm_dask.readers.scaling import Scaling
from dcsvm_dask.readers.signs import SignTable
from dcsvm_dask.readers.source import ARCHIVES
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import are_labels
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import TASKS

NAME = "preparation.json"
FORMAT = "dcsvm-preparation-1"


@dataclass(frozen=True)
class Preparation:
    """Brings new rows and labels into the form of the training data.

    Attributes
    ----------
    classes : list of labels
        Of two, the second one is the positive class. Empty where the rows have targets, or are
        those of a one-class SVM.
    positive : list of labels or None
        Labels of the source that were joined into the class 1; all others are -1.
    n_features : int
    is_sparse : bool
        Whether the training rows are CSR.
    scaling : Scaling or None
    n_rows : int
        Rows of the training data.
    reading : dict
        How the source was read; see `DataSet`.
    feature_names : list of str or None
    one_class : bool
        Whether labels are +1 and -1 and only score.
    columns : ColumnPreparation or None
        How the features were made of the columns of a table.
    ranges : list of [float, float]
        The least and the greatest unscaled value of the first features.
    """

    classes: list[Label]
    positive: list[Label] | None
    n_features: int
    is_sparse: bool
    scaling: Scaling | None
    n_rows: int
    reading: dict[str, Any] = field(default_factory=dict)
    feature_names: list[str] | None = None
    one_class: bool = False
    columns: ColumnPreparation | None = None
    ranges: list[list[float]] = field(default_factory=list)

    @property
    def labels(self) -> list[Label]:
        """The labels that predictions have: the classes, or -1 and +1; empty for real targets."""
        return [-1, 1] if self.one_class else self.classes

    @property
    def has_classes(self) -> bool:
        """Whether the rows have classes, not targets."""
        return bool(self.classes)

    @classmethod
    def of(cls, data: DataSet) -> Preparation:
        """Return the preparation of a training part."""
        return cls(
            classes=list(data.classes),
            positive=data.positive,
            n_features=data.n_features,
            is_sparse=data.is_sparse,
            scaling=data.scaling,
            n_rows=data.n_rows,
            reading=dict(data.reading),
            feature_names=data.feature_names,
            one_class=data.one_class,
            columns=data.columns,
            ranges=data.ranges,
        )

    def write(self, run: RunFolder) -> None:
        """Write it to a run's folder."""
        scaling = None
        if self.scaling is not None:
            arrays, scaling = self.scaling.to_arrays()
            # JSON texts of Python restore every float64.
            scaling["arrays"] = {name: values.tolist() for name, values in arrays.items()}
        value = {
            "format": FORMAT,
            "classes": self.classes,
            "positive": self.positive,
            "n_features": self.n_features,
            "sparse": self.is_sparse,
            "scaling": scaling,
            "n_rows": self.n_rows,
            "reading": self.reading,
            "feature_names": self.feature_names,
            **({"one_class": True} if self.one_class else {}),
            **({} if self.columns is None else {"columns": self.columns.to_json()}),
            "ranges": self.ranges,
        }
        run.write(NAME, value)

    @classmethod
    def read(cls, run: RunFolder) -> Preparation:
        """Return the preparation of a run; where the file is missing, that of its data set.

        Raises
        ------
        InputError
            If it is damaged, or neither it nor the data set exists.
        """
        place = run.place / NAME
        try:
            value = place.read_json(sealed=True)
        except FileNotFoundError:
            return cls.of(DataSet.open(run.header["data"]["url"]))
        try:
            if value["format"] != FORMAT:
                raise InputError(f"{place}: has the format {value['format']!r}, not {FORMAT!r}")
            n_classes = 0
            if TASKS[run.header["settings"].get("task", "classification")].has_classes:
                n_classes = max(2, len(run.header.get("shape", {}).get("class_rows", ())))
            if not are_labels(value["classes"]) or len(value["classes"]) != n_classes:
                named = f"{value['classes']!r:.80}"
                raise InputError(f"{place}: damaged: {n_classes} classes were trained, not {named}")
            scaling = value["scaling"]
            if scaling is not None:
                arrays = {
                    name: np.array(values, dtype=np.float64)
                    for name, values in scaling["arrays"].items()
                }
                if any(a.shape != (value["n_features"],) for a in arrays.values()):
                    raise InputError(f"{place}: damaged: scaling of other features")
                scaling = Scaling.from_arrays(arrays, scaling)
            return cls(
                classes=list(value["classes"]),
                positive=value["positive"],
                n_features=int(value["n_features"]),
                is_sparse=bool(value["sparse"]),
                scaling=scaling,
                n_rows=int(value["n_rows"]),
                reading=dict(value["reading"]),
                feature_names=value["feature_names"],
                one_class=bool(value.get("one_class", False)),
                columns=ColumnPreparation.from_json(value.get("columns")),
                ranges=[[float(low), float(high)] for low, high in value.get("ranges", [])],
            )
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{place}: damaged: {error!r}") from error

    def scales_like(self, data: DataSet, features: list[int] | None = None) -> bool:
        """Return whether rows, or some of their features, have the scaling of training rows."""
        mine, other = self.scaling, data.scaling
        if other is not None and features is not None:
            if other.kind == "unit" and len(features) != data.n_features:
                return False  # those rows have length 1 over other features, too
            other = other.of_features(features)
        if mine is None or other is None:
            return mine is other
        return mine.equals(other)

    def expected(self) -> Expected:
        """Return the columns that tables must have."""
        is_column = self.reading.get("format") not in ARCHIVES
        label, position = (self.reading.get(key) for key in ("label", "position"))
        name = label if is_column and isinstance(label, str) else None
        return Expected(self.n_features, self.feature_names, name, position, self.columns)

    def y(
        self, labels: NDArray[Any], name: str, first_row: int, *, is_text: bool = False
    ) -> NDArray[Any]:
        """Return y of a source: the codes of its labels, or its targets.

        Parameters
        ----------
        labels : ndarray, shape (n,)
        name : str
            Name of the source, for messages.
        first_row : int
            Number of the first row, for messages.
        is_text : bool, default False
            Whether the source is a text, in which numbers may have signs.

        Returns
        -------
        ndarray, shape (n,), int32 or float64
            Of two classes 0 is negative and 1 positive; of a one-class SVM +1, -1, or 0 where a
            label is not known.

        Raises
        ------
        InputError
            If a label is no class of the training data, or a target no number.
        """
        if self.one_class:
            return SignTable(name, first_row, self.positive).add(labels)
        if not self.has_classes:
            decimal = "." if self.columns is None else self.columns.decimal
            form = str(self.reading.get("target_form") or "")
            written: dict[str, Any] = {"decimal": decimal, "form": form, "is_text": is_text}
            return TargetTable(name, first_row, **written).add(labels)
        table = LabelTable(name, first_row)
        codes = table.add(labels)
        ours = [
            self._code(label, partial(RowError, name, row), joined=False)
            for label, row in zip(table.labels, table.first_rows, strict=True)
        ]
        return np.array(ours, np.int32)[codes]

    def y_of(self, data: DataSet) -> Callable[[int, int], NDArray[Any]]:
        """Return a function that reads y of some rows of another data set, as `y` has it.

        Raises
        ------
        InputError
            If the training data do not have its classes, or one has targets and the other classes.
        """
        if self.one_class or data.one_class:
            return self._signs_of(data)
        if self.has_classes is (data.targets is not None):
            ours, theirs = ("classes", "targets") if self.has_classes else ("targets", "classes")
            raise InputError(
                f"{data.url}: its rows have {theirs}, those that the model was trained on {ours}"
            )
        if not self.has_classes:
            return data.read_y
        codes = self.codes_of_classes(data)
        return lambda start, stop: codes[data.read_codes(start, stop)]

    def _signs_of(self, data: DataSet) -> Callable[[int, int], NDArray[Any]]:
        """Return what reads the labels of a one-class SVM; classes -1 and 1 are such labels."""
        if self.one_class and data.one_class:
            return data.read_y
        if self.one_class and data.classes == self.labels:
            return lambda start, stop: 2.0 * data.read_codes(start, stop) - 1.0
        other = "one-class" if self.one_class else "another task"
        raise InputError(
            f"{data.url}: was ingested with --task {data.task}, but the model learned {other}; "
            "ingest its source with the task of the training data"
        )

    def codes_of_classes(self, data: DataSet) -> NDArray[np.int32]:
        """Return the code of each class of another data set.

        Raises
        ------
        InputError
            If the training data do not have such a class.
        """
        joined = data.positive is not None

        def refused(problem: str) -> InputError:
            return InputError(f"{data.url}{problem}")

        return np.array([self._code(c, refused, joined=joined) for c in data.classes], np.int32)

    def _code(self, label: Label, refused: Callable[[str], InputError], *, joined: bool) -> int:
        if self.positive is not None and not joined:
            return int(label in {named_label(one, [label]) for one in self.positive})
        code = class_of(label, self.classes)
        if code is None:
            known = ", ".join(repr(c) for c in self.classes)
            raise refused(
                f": the label {label!r} does not occur in the training data ({known}); write it as "
                "it is there, or leave such rows out"
            )
        return code


def keep_preparation(run: RunFolder, data: DataSet) -> None:
    """Write a run's preparation to its folder, unless it exists."""
    if not (run.place / NAME).exists():
        Preparation.of(data).write(run)
