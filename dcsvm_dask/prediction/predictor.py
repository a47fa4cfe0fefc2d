"""What a run does with its committed models, as methods: `dcsvm_dask.api.Run` inherits them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.choice import Choice, choose_model
from dcsvm_dask.methods.problem import settings_of
from dcsvm_dask.methods.registry import approximation
from dcsvm_dask.models.classes import values_of_classes, winning_classes
from dcsvm_dask.prediction import compress as compressing
from dcsvm_dask.prediction import export as exporting
from dcsvm_dask.prediction import run_prediction as predicting
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.model import check_model
from dcsvm_dask.storage.predictions import label_array
from dcsvm_dask.storage.preparation import Preparation
from dcsvm_dask.storage.run import RunFolder

Place = str | os.PathLike[str]


class Predictor:
    """Prediction, evaluation, compression and export.

    Everywhere ``mode`` is "exact", "early" (equation (6) of Hsieh, Si, Dhillon, 2014: the machine
    of a row's own block), "naive" (equation (5): the sum of all machines of a level) or "committee"
    (the Bayesian committee machine of a level that was calibrated; values are log odds); by default
    exact where the exact model is committed and no level is asked for, else early. A run of an
    approximation has one model, and its method's name is the mode that results tell. ``level`` is a
    committed level, by default the lowest. ``precision`` is that of kernel values, "float32" or
    "float64"; their sums are float64 always. ``execution`` says where to compute; by default in
    this process with a thread for every core.

    Rows are given as they were before ingest: the run scales them as its training data were, in
    float64. The features of data frames, of text with a header, Parquet and data sets are found by
    their names, in any order, and other columns are left out; without names on either side they are
    matched by position. ``encoding`` is that of text without a byte order mark, by default that of
    the training data.
    """

    folder: RunFolder

    def predict(
        self,
        X: Any,
        *,
        mode: str | None = None,
        level: int | None = None,
        precision: str = "float32",
        execution: Execution | None = None,
        encoding: str | None = None,
    ) -> NDArray[Any]:
        """Return the labels of some rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, n_features), or str or path
            Rows in memory, a data set (its training part, or ``DATA.zarr/test``), or a raw file.

        Returns
        -------
        ndarray, shape (n,)
            Labels as they were in the training data.

        Raises
        ------
        InputError
            If there is no such model, or the rows do not fit to it.
        """
        choice = self._choose(mode, level, precision)
        values = predicting.decision_values(
            self.folder, X, choice, execution or Execution(), encoding
        )
        classes = Preparation.read(self.folder).classes
        scheme = settings_of(self.folder).multiclass
        return label_array(classes)[winning_classes(values, len(classes), scheme)]

    def decision_function(
        self,
        X: Any,
        *,
        mode: str | None = None,
        level: int | None = None,
        precision: str = "float32",
        execution: Execution | None = None,
        encoding: str | None = None,
    ) -> NDArray[np.float64]:
        """Return the decision values of some rows; above 0 means the positive (last) class.

        Returns
        -------
        ndarray, float64
            Shape (n,). Of more than two classes shape (n, n_classes): the votes for each class
            and, within less than half a vote, how decided they are, as SVC has them for "ovr"; of
            a run with ``multiclass="ovr"`` the decision values of each class against the rest.
        """
        choice = self._choose(mode, level, precision)
        values = predicting.decision_values(
            self.folder, X, choice, execution or Execution(), encoding
        )
        n_classes = len(Preparation.read(self.folder).classes)
        return values_of_classes(values, n_classes, settings_of(self.folder).multiclass)

    def predict_file(
        self,
        data: Any,
        out: Place,
        *,
        mode: str | None = None,
        level: int | None = None,
        precision: str = "float32",
        execution: Execution | None = None,
        overwrite: bool = False,
        encoding: str | None = None,
        quiet: bool = True,
    ) -> dict[str, Any]:
        """Write labels and decision values to a file, in bounded memory.

        Parameters
        ----------
        data : str or path, or what `predict` takes
        out : str or path
            ``.csv`` (header ``label,decision``), ``.npy`` (a structured array with these fields),
            ``.parquet`` or ``.zarr``; local or an fsspec URL; written whole or not at all, and
            not inside a run or a data set.
        overwrite : bool, default False
            Whether predictions that are there are replaced.

        Returns
        -------
        dict
            ``out``, ``mode``, ``level``, ``n_rows``, ``n_support``, ``ms_per_row`` (the time of
            one core for a row, without reading and writing).
        """
        choice = self._choose(mode, level, precision)
        return predicting.predict_file(
            self.folder,
            data,
            out,
            choice,
            execution or Execution(),
            self._announcer(quiet=quiet),
            encoding,
            overwrite=overwrite,
        )

    def evaluate(
        self,
        data: Any,
        *,
        mode: str | None = None,
        level: int | None = None,
        precision: str = "float32",
        execution: Execution | None = None,
        encoding: str | None = None,
        quiet: bool = True,
    ) -> dict[str, Any]:
        """Compare predictions with labels.

        Parameters
        ----------
        data : str or path, data frame, or tuple (X, y)
            A data set, a raw file or a frame with labels, or rows and labels.

        Returns
        -------
        dict
            JSON values: ``accuracy`` and ``balanced_accuracy`` in [0, 1], ``confusion``
            (``labels``; ``matrix``, a row for each true class), ``n_rows``, ``n_support``,
            ``ms_per_row``, ``mode``, ``level``.
        """
        choice = self._choose(mode, level, precision)
        return predicting.evaluate(
            self.folder,
            data,
            choice,
            execution or Execution(),
            self._announcer(quiet=quiet),
            encoding,
        )

    def export(
        self,
        file: Place,
        *,
        format: str = "libsvm",  # noqa: A002
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Write the run's model in another program's format.

        Parameters
        ----------
        file : str or path
        format : {"libsvm", "onnx"}
            Both of any model that is one sum of kernel values. LIBSVM's model file; the scaling
            lies beside it as a range file of svm-scale, ``FILE.range``. Or an ONNX graph, which
            scales rows itself: input ``rows``, float32, shape (N, n_features); outputs ``label``
            and ``decision``, shape (N,).
        overwrite : bool, default False
            Whether files that are there are replaced.

        Returns
        -------
        dict
            See `export_libsvm` and `export_onnx` in `dcsvm_dask.prediction.export`.

        Raises
        ------
        InputError
            If there is no model of the whole problem, the format has no form for it, the file
            exists, or it lies inside a run or a data set.
        """
        writers = {"libsvm": exporting.export_libsvm, "onnx": exporting.export_onnx}
        if format not in writers:
            raise InputError(f"format must be {' or '.join(writers)}, got {format!r}")
        self._check_size(choose_model(self.folder, "exact"))
        return writers[format](self.folder, Location.of(file), overwrite=overwrite)

    def compress(
        self,
        out: Place,
        *,
        bound: float,
        data: Any = None,
        sample: int = compressing.SAMPLE,
        seed: int = 0,
        execution: Execution | None = None,
        encoding: str | None = None,
        quiet: bool = True,
    ) -> dict[str, Any]:
        """Write a smaller model into a run folder of its own, which predicts faster.

        Support vectors are left out one after the other, those first that matter least, and the
        coefficients of the others fitted anew, as long as no decision value of a sample changes by
        more than the bound; see `dcsvm_dask.models.compression.compress`. The new run predicts, is
        evaluated and exported like any other. A local kernel (a large gamma) has little to leave
        out.

        Parameters
        ----------
        out : str or path
            A folder or fsspec URL that does not exist yet or is empty; it becomes a run as the
            last thing that is written.
        bound : float
            On the change of decision values, above 0. The margin is from -1 to 1.
        data : optional
            Rows with labels on which change and accuracy are measured, as `evaluate` takes them;
            by default those that the run held out, else the test part of its training data, else
            training rows.
        sample : int, default 8192
            Rows, drawn at random from them, on which the change is measured; up to 65,536.
        seed : int, default 0
            Of that choice.

        Returns
        -------
        dict
            ``out``; ``support_before``, ``support`` (vectors); ``bound``, ``change`` (the largest
            one of a decision value on the sample), ``sample`` (its rows), ``measured_on``;
            ``distance`` (no decision value of any row x changes by more than this times sqrt(K(x,
            x))); ``accuracy`` (``before`` and ``after``), ``scored_rows``, ``scored_on``;
            ``seconds``.

        Raises
        ------
        InputError
            If the run has no model of the whole problem that is one sum of values of a positive
            semi-definite kernel, something lies at `out`, or a parameter is outside its range.
        """
        choice = self._choose(None, 0, "float32")
        return compressing.compress_run(
            self.folder,
            Location.of(out, writable=True),
            choice,
            bound=bound,
            data=data,
            sample=sample,
            seed=seed,
            execution=execution or Execution(),
            announcer=self._announcer(quiet=quiet),
            encoding=encoding,
        )

    def to_sklearn(self) -> Any:
        """Return the exact model as a fitted `sklearn.svm.SVC`.

        It takes rows that are scaled as the training data are in their data set; `scale` does
        that.

        Raises
        ------
        InputError
            If the exact model is not committed, scikit-learn is not installed or has no such
            kernel.
        """
        self._check_size(choose_model(self.folder, "exact"))
        return exporting.export_svc(self.folder)

    def scale(self, X: Any) -> Any:
        """Return raw rows scaled as the run's training data were, float32.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n, n_features)

        Returns
        -------
        ndarray or csr_array, shape (n, n_features), float32
        """
        return predicting.scaled_rows(self.folder, X)

    def _announcer(self, *, quiet: bool) -> Announcer:
        return Announcer(self.folder.place.url, [] if quiet else self._callbacks())

    def _callbacks(self) -> list[Callback]:
        """Who is told of progress; nobody unless a class below says so."""
        return []

    def _choose(self, mode: str | None, level: int | None, precision: str) -> Choice:
        own = approximation(self.folder.header["settings"])
        choice = choose_model(self.folder, mode, level, precision, approximation=own)
        self._check_size(choice)
        return choice

    def _check_size(self, choice: Choice) -> None:
        """Refuse a model that takes more than the memory bound."""
        node = self.folder.find(choice.stage, "commit")
        if node is not None:
            check_model(node)
