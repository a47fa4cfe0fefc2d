"""Methods of a run on its committed models, which `dcsvm_dask.api.Run` inherits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.choice import Choice, choose_model
from dcsvm_dask.methods.registry import approximation
from dcsvm_dask.methods.run_data import settings_of
from dcsvm_dask.models.schemes import scheme_for
from dcsvm_dask.prediction import compress as compressing
from dcsvm_dask.prediction import export as exporting
from dcsvm_dask.prediction import run_prediction as predicting
from dcsvm_dask.prediction.batches import prepared_rows
from dcsvm_dask.readers.label_array import label_array
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.model import check_model
from dcsvm_dask.storage.preparation import Preparation
from dcsvm_dask.storage.run import RunFolder

Place = str | os.PathLike[str]


class Predictor:
    """Prediction, evaluation, compression and export.

    The ``mode`` of a prediction is "exact", "early" (equation (6) of Hsieh, Si, Dhillon, 2014: the
    SVM of a row's own block), "naive" (equation (5): the sum of all SVMs of a level) or "committee"
    (the Bayesian committee machine of a calibrated level; values are log odds, of regression
    targets); by default exact where the exact model is committed and no level is given, else early.
    A run of an approximation has one model, and results name its method as the mode.

    Rows are given as they were before ingest: the run scales them as its training data, in
    float64. The features of data frames, of text with a header, Parquet and data sets are found by
    their names, in any order, and other columns are left out; without names on either side they are
    matched by position. `predict`, `decision_function` and `evaluate` warn where more than a tenth
    of a feature's cells are far outside of its training range.
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
        sort_quantiles: bool = False,
    ) -> NDArray[Any]:
        """Return the labels of some rows, or their predicted targets.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, n_features), or str or path
            Rows in memory, a data set (its training part, or ``DATA.zarr/test``), or a raw file.
            Those in Dask are brought into memory; ``X.map_blocks(run.predict, dtype=int,
            drop_axis=1)`` predicts an array chunk by chunk.
        mode : {"exact", "early", "naive", "committee"}, optional
            See the class for the default.
        level : int, optional
            A committed level; by default the lowest.
        precision : {"float32", "float64"}, default "float32"
            Precision of kernel values; their sums are float64.
        execution : Execution, optional
            Where to compute; by default in this process with a thread for every core.
        encoding : str, optional
            Encoding of text without a byte order mark; by default that of the training data.
        sort_quantiles : bool, default False
            Whether the predictions of several quantiles are sorted in each row, so that they do not
            cross (rearrangement: Chernozhukov, Fernandez-Val, Galichon 2010).

        Returns
        -------
        ndarray, shape (n,)
            Labels as they were in the training data; of regression and quantiles float64 targets,
            of several quantiles shape (n, n_quantiles); of a one-class SVM +1 for rows like the
            training rows and -1 for others.

        Raises
        ------
        InputError
            If there is no such model, or the rows do not fit it.
        """
        choice = self._choose(mode, level, precision)
        values = predicting.decision_values(
            self.folder,
            X,
            choice,
            execution or Execution(),
            encoding,
            sort_quantiles=sort_quantiles,
        )
        classes = Preparation.read(self.folder).labels
        if not classes:
            return values
        scheme = scheme_for(len(classes), settings_of(self.folder).multiclass)
        return label_array(classes)[scheme.classes_of(values)]

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
        """Return the decision values of some rows; positive values mean the positive (last) class.

        Parameters
        ----------
        X, mode, level, precision, execution, encoding
            As for `predict`.

        Returns
        -------
        ndarray, float64
            Shape (n,). For more than two classes shape (n, n_classes): the votes for each class
            plus a confidence of less than half a vote, as in SVC for "ovr"; for a run with
            ``multiclass="ovr"`` the decision values of one-vs-rest.

        Raises
        ------
        InputError
            If there is no such model, the rows do not fit it, or the run has learned numbers.
        """
        n_classes = len(Preparation.read(self.folder).labels)
        if not n_classes:
            raise InputError(
                f"{self.folder.place}: has learned numbers, which have no decision function; use "
                "predict"
            )
        choice = self._choose(mode, level, precision)
        values = predicting.decision_values(
            self.folder, X, choice, execution or Execution(), encoding
        )
        scheme = scheme_for(n_classes, settings_of(self.folder).multiclass)
        return scheme.values_of_classes(values)

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
        sort_quantiles: bool = False,
        keep: Sequence[str] = (),
        quiet: bool = True,
    ) -> dict[str, Any]:
        """Write labels and decision values, or predicted targets, to a file, in bounded memory.

        Parameters
        ----------
        data : str or path, or rows in memory
            See `predict`.
        out : str or path
            ``.csv`` (header ``label,decision``, or ``prediction``), ``.npy`` (a structured array
            with these fields), ``.parquet`` or ``.zarr``; local or an fsspec URL; written whole or
            not at all, and not inside a run or a data set.
        mode, level, precision, execution, encoding, sort_quantiles
            As for `predict`.
        overwrite : bool, default False
            Whether existing predictions are replaced.
        keep : sequence of str
            Columns of the table, such as an id, that are copied in front of the predictions; for
            ``.csv``.
        quiet : bool, default True
            Whether progress is not shown.

        Returns
        -------
        dict
            ``out``, ``mode``, ``level``, ``n_rows``, ``n_support``, ``ms_per_row`` (the time of
            one core for a row, without reading and writing), ``cells``: by column the numbers of
            empty cells that were filled in (``filled``), and of those with a category that the
            training rows do not have (``unknown``); ``outside``: by
            feature ``cells``, how many are farther from its training range, ``least`` to
            ``greatest``, than that is wide, and ``sample``, the first of them; ``notes``: a
            sentence where svmlight text names fewer features than the model has.

        Raises
        ------
        InputError
            If there is no such model, the rows do not fit it, or `out` cannot be written.
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
            sort_quantiles=sort_quantiles,
            keep=keep,
        )

    def evaluate(
        self,
        data: Any,
        y: Any = None,
        *,
        mode: str | None = None,
        level: int | None = None,
        precision: str = "float32",
        execution: Execution | None = None,
        encoding: str | None = None,
        sort_quantiles: bool = False,
        quiet: bool = True,
    ) -> dict[str, Any]:
        """Compare predictions with labels, or with targets.

        Parameters
        ----------
        data : str or path, data frame, or tuple (X, y)
            A data set, a raw file or a frame with labels, or rows and labels.
        y : array or series, shape (n,), optional
            Labels, or targets, of rows or a frame: ``evaluate(X, y)`` is ``evaluate((X, y))``.
        mode, level, precision, execution, encoding, sort_quantiles
            As for `predict`.
        quiet : bool, default True
            Whether progress is not shown.

        Returns
        -------
        dict
            JSON values. Of classes: ``accuracy``, ``balanced_accuracy``, ``largest_class`` (the
            share of the class with the most rows), ``precision``, ``recall`` and ``f1`` in [0, 1],
            the last three of the second of two classes and of more the mean over classes
            (``average``: "binary" or "macro"); ``roc_auc`` of two classes; ``by_class``, the three
            and the rows of each class; ``confusion`` (``labels``; ``matrix``, a row for each true
            class); ``warnings``, a sentence where less than 2 % of the rows of a class with at
            least 50 are predicted right. Always ``n_rows``, ``n_support``, ``ms_per_row``,
            ``mode``, ``level``, and ``notes``: as `predict_file` has them, and a sentence where
            many rows have the same values as training rows. Of targets instead:
            ``r2``, ``mae`` and ``rmse`` of regression, ``pinball`` and ``coverage`` of a quantile.
            Of several ``pinball`` is the mean, ``by_quantile`` has both for each, ``crossing`` is
            the share of rows on which one lies above a higher one, and ``sorted`` says whether they
            were sorted before. Of a one-class SVM ``auc`` and ``accuracy``, as far as labels allow,
            and ``outliers``, the share of rows with a decision value of 0 or less.

        Raises
        ------
        InputError
            If there is no such model, or the rows or labels do not fit it.
        """
        choice = self._choose(mode, level, precision)
        if y is not None and isinstance(data, str | os.PathLike):
            raise InputError(f"y: is for rows; {data} has its own labels: leave it out")
        return predicting.evaluate(
            self.folder,
            data if y is None else (data, y),
            choice,
            execution or Execution(),
            self._announcer(quiet=quiet),
            encoding,
            sort_quantiles=sort_quantiles,
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
            Both are for models that are a single sum of kernel values. With "libsvm" the scaling is
            written beside the model file as a range file of svm-scale, ``FILE.range``. The ONNX
            graph scales rows: input ``rows``, float32, shape (N, n_features); outputs ``label`` and
            ``decision``, shape (N,), or ``prediction`` of targets.
        overwrite : bool, default False
            Whether existing files are replaced.

        Returns
        -------
        dict
            See `export_libsvm` and `export_onnx` in `dcsvm_dask.prediction.export`.

        Raises
        ------
        InputError
            If there is no model of the whole problem, the format cannot express it, the file
            exists, or it is inside a run or a data set.
        """
        writers = {"libsvm": exporting.export_libsvm, "onnx": exporting.export_onnx}
        if format not in writers:
            raise InputError(f"format must be {' or '.join(writers)}, got {format!r}")
        self._check_size(choose_model(self.folder, "exact"))
        return writers[format](self.folder, Location.of(file, writable=True), overwrite=overwrite)

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
        """Write a smaller model into a new run folder, which predicts faster.

        Support vectors are removed one by one, the least important first, and the coefficients of
        the others are fitted again, as long as no decision value of a sample changes by more than
        the bound; see `dcsvm_dask.models.compression.compress`. The new run predicts, is evaluated
        and exported like any other. A local kernel (a large gamma) allows little compression.

        Parameters
        ----------
        out : str or path
            A folder or fsspec URL that does not exist or is empty; it becomes a run by the last
            write.
        bound : float
            Largest change of decision values, above 0. The margin is from -1 to 1.
        data : optional
            Rows with labels on which change and accuracy are measured, as for `evaluate`;
            by default held-out rows, else the test part of the training data, else training rows.
        sample : int, default 8192
            Number of these rows, drawn at random, on which the change is measured; up to 65,536.
        seed : int, default 0
            Seed of the sample.
        execution : Execution, optional
            Where to compute; by default in this process with a thread for every core.
        encoding : str, optional
            Encoding of text without a byte order mark; by default that of the training data.
        quiet : bool, default True
            Whether progress is not shown.

        Returns
        -------
        dict
            ``out``; ``support_before``, ``support`` (vectors); ``bound``, ``change`` (the largest
            one of a decision value on the sample), ``sample`` (its rows), ``measured_on``;
            ``distance`` (no decision value of any row x changes by more than this times sqrt(K(x,
            x))); ``accuracy``, or the scores of the task (``before`` and ``after``),
            ``scored_rows``, ``scored_on``;
            ``seconds``.

        Raises
        ------
        InputError
            If the run has no model of the whole problem that is a single sum of values of a
            positive semi-definite kernel, `out` is not empty, or a parameter is outside its range.
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
        """Return the exact model as a fitted `sklearn.svm.SVC`, `SVR` or `OneClassSVM`.

        Where the ingest scaled rows or made numbers of the columns of a table (categories, dates,
        missing cells), it is a fitted `sklearn.pipeline.Pipeline` of two steps: "prepare" does that
        to later rows, arrays and data frames with the columns of the table, and "svm" is the SVM.

        Raises
        ------
        InputError
            If the exact model is not committed, scikit-learn is not installed or has no such
            kernel or no such task.
        """
        self._check_size(choose_model(self.folder, "exact"))
        return exporting.export_svc(self.folder)

    def scale(self, X: Any) -> Any:
        """Return raw rows scaled as the run's training data, float32.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n, n_features)

        Returns
        -------
        ndarray or csr_array, shape (n, n_features), float32
        """
        return prepared_rows(X, Preparation.read(self.folder))

    def _announcer(self, *, quiet: bool) -> Announcer:
        return Announcer(self.folder.place.url, [] if quiet else self._callbacks())

    def _callbacks(self) -> list[Callback]:
        """Return the callbacks for progress; none unless a subclass has some."""
        return []

    def _choose(self, mode: str | None, level: int | None, precision: str) -> Choice:
        own = approximation(self.folder.header["settings"])
        choice = choose_model(self.folder, mode, level, precision, approximation=own)
        self._check_size(choice)
        return choice

    def _check_size(self, choice: Choice) -> None:
        """Raise an error for a model that exceeds the memory bound."""
        node = self.folder.find(choice.stage, "commit")
        if node is not None:
            check_model(node)
