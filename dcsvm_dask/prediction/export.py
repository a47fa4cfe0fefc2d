"""Export of models to other programs; repeated rows share their alpha."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.choice import choose_model
from dcsvm_dask.methods.predict import load_model, load_single
from dcsvm_dask.methods.problem import ARRANGE
from dcsvm_dask.methods.registry import options_of
from dcsvm_dask.methods.repeats import representatives
from dcsvm_dask.methods.run_data import data_of, settings_of
from dcsvm_dask.models.libsvm import (
    label_integers,
    libsvm_lines,
    ovo_lines,
    range_lines,
    sum_lines,
)
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.onnx import (
    RowScaling,
    bytes_of_pair,
    expansion_onnx,
    outputs_onnx,
    ovo_onnx,
    ovr_onnx,
)
from dcsvm_dask.models.onnx_table import Column
from dcsvm_dask.models.schemes import OneVsOne, OneVsRest, Outputs
from dcsvm_dask.models.svc import (
    Trained,
    to_linear_svm,
    to_one_class,
    to_ovo_svc,
    to_svc,
    to_svr,
)
from dcsvm_dask.prediction.pipeline_export import with_preparation
from dcsvm_dask.prediction.table_export import onnx_columns
from dcsvm_dask.readers.label_array import label_array
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.outputs import output
from dcsvm_dask.storage.preparation import Preparation
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import (
    Classification,
    NuClassification,
    NuRegression,
    OneClass,
    Regression,
    output_names,
)

SHOWN = 20
"""Features that a note names."""
LIBSVM_TYPES = {
    "classification": "c_svc",
    "nu-classification": "nu_svc",
    "regression": "epsilon_svr",
    "quantile": "epsilon_svr",
    "nu-regression": "nu_svr",
    "one-class": "one_class",
}
"""LIBSVM's types of SVM by the tasks of runs."""


@dataclass(frozen=True)
class Expansion:
    """A model of the whole problem as a single sum of kernel values.

    Attributes
    ----------
    support : Rows, shape (n_support, n_features)
        Support vectors; for liblinear the weights, as one row.
    rows : ndarray, shape (n_support,), int64
        Row numbers of the support vectors in the training data, ascending; empty where they are
        weights, landmarks, or support vectors of several SVMs.
    coef : ndarray, shape (n_support,), float64
        y_i alpha_i for rows of the training data, at most C times the weights of the row and of its
        class (of regression alpha_i - alpha_i*); 1 for weights.
    """

    kernel: Kernel
    support: Rows
    rows: NDArray[np.int64]
    coef: NDArray[np.float64]
    bias: float


def read_expansion(run: RunFolder) -> Expansion:
    """Return a run's model of the whole problem.

    Where it is given by alpha, it has a support vector for each row of the training data: rows
    that are equal in x and y were one variable in training; each of them gets its share.

    Raises
    ------
    InputError
        If the model is not committed, is not a sum of kernel values, or is damaged.
    """
    choice = choose_model(run, "exact")
    model = load_single(run, choice.stage, compact=False)
    _check_sum(run, model)
    node, arranged = run.find(choice.stage, "commit"), run.find(ARRANGE, "commit")
    if node is not None and not node.has("alpha"):
        coef, bias = model.coef[0] / model.n_blocks, float(model.bias.mean())
        return Expansion(model.kernel, model.support, np.empty(0, np.int64), coef, bias)
    if node is None or arranged is None:
        raise InputError(
            f"{run.place}: the stage that {choice.stage} was made from is missing; train again"
        )
    alpha, representative = node.read("alpha")[0], representatives(arranged)
    rows = np.flatnonzero(alpha)
    # The model has one support vector for each representative, in the order of the data set.
    stands_for, position = np.unique(
        rows if representative is None else representative[rows], return_inverse=True
    )
    if len(stands_for) != model.n_support:
        raise InputError(f"{node.place}: damaged: alpha does not fit the support vectors")
    coef = np.sign(model.coef[0, position]) * np.abs(alpha[rows])
    if node.record.get("sampled"):
        rows = node.read("sampled")[rows]
    return Expansion(model.kernel, model.support[position], rows, coef, float(model.bias[0, 0]))


def _check_sum(run: RunFolder, model: Model) -> None:
    """Raise an error if a model is not a single sum of kernel values."""
    if model.features is not None or model.vote not in (None, "mean"):
        raise InputError(
            f"{run.place}: a model of {settings_of(run).method} cannot be exported: "
            "it is not a single sum of kernel values"
        )


def _one_vs_one(run: RunFolder, form: str) -> Model:
    """Return the exact model of many classes; refuse one-vs-rest, which LIBSVM lacks."""
    model = load_model(run, choose_model(run, "exact").stage)
    if not isinstance(model.scheme, OneVsOne):
        _, options = options_of(run.header["settings"])
        own = "" if options.scheme_of("ovo") == "ovo" else " and without -P multi_class"
        raise InputError(
            f"{run.place}: has an SVM for each class (one-vs-rest), but {form} has one for each "
            f"pair of classes; train with --multiclass ovo{own}"
        )
    return model


def export_libsvm(run: RunFolder, target: Location, *, overwrite: bool = False) -> dict[str, Any]:
    """Write a run's model as a LIBSVM model file, and the scaling as a range file beside it.

    Parameters
    ----------
    run : RunFolder
    target : Location
        The model file.
    overwrite : bool, default False
        Whether existing files are replaced.

    Returns
    -------
    dict
        ``model`` and ``range`` (their places, the latter None if nothing was scaled),
        ``n_support``, ``labels`` (the integer of each class in the file) and ``classes``, and
        ``notes`` for the user.

    Raises
    ------
    InputError
        If the model is not committed or not a sum of kernel values, or LIBSVM has no such kernel.
    """
    prepared, outputs = Preparation.read(run), output_names(settings_of(run).make_task())
    if outputs:
        raise InputError(
            f"{run.place}: a file of LIBSVM holds one regression SVM, and this run has "
            f"{len(outputs)} quantiles; train one for each file"
        )
    output(target, "file", overwrite=overwrite)
    scaling = prepared.scaling
    ranges = None
    if scaling is not None and scaling.kind != "unit":
        ranges = output(f"{target.url}.range", "file", overwrite=overwrite)
    labels = label_integers(prepared.classes) if prepared.has_classes else ()
    if len(labels) > 2:
        model = _one_vs_one(run, "LIBSVM's format")
        n_support, lines = (
            model.n_support,
            ovo_lines(model, labels, svm_type=LIBSVM_TYPES[settings_of(run).task]),
        )
    else:
        exact = read_expansion(run)
        n_support, parts = len(exact.coef), (exact.kernel, exact.support, exact.coef, exact.bias)
        svm_type = LIBSVM_TYPES[settings_of(run).task]
        lines = libsvm_lines(*parts, labels, svm_type) if labels else sum_lines(svm_type, *parts)
    target.write_bytes("".join(lines).encode())
    notes = []
    if prepared.columns is not None:
        features = prepared.columns.features
        shown = ", ".join(f"{k} {name}" for k, name in enumerate(features[:SHOWN], 1))
        more = "" if len(features) <= SHOWN else f" and {len(features) - SHOWN} more"
        notes.append(
            f"rows need the features that the ingest made of the columns: {shown}{more} "
            "(`dcsvm info --json` lists all under feature_names)"
        )
    task = settings_of(run).task
    if task == "quantile":
        notes.append(
            "LIBSVM has no quantiles: the file is one of epsilon-SVR, with our predictions"
        )
    if list(labels) != prepared.classes:
        named = zip(reversed(labels), reversed(prepared.classes), strict=True)
        stands = ", ".join(f"{number} for {label!r}" for number, label in named)
        stands = stands.replace(" for", " stands for", 1)
        notes.append(f"LIBSVM's labels are integers: {stands}")
    if prepared.reading.get("first_feature") == 0:
        notes.append(
            "features are numbered from 1 in the model, but from 0 in the training file: "
            "add 1 to the indices of rows for svm-predict"
        )
    if scaling is not None and ranges is None:
        notes.append("svm-scale cannot scale rows to unit length: scale them before svm-predict")
    elif scaling is not None and ranges is not None:
        lines = range_lines(prepared.n_features, scaling.offset, scaling.factor)
        ranges.write_bytes("".join(lines).encode())
        notes.append(f"scale rows by `svm-scale -r {ranges} ROWS` before svm-predict")
    return {
        "model": target.url,
        "range": None if ranges is None else ranges.url,
        "n_support": n_support,
        "classes": prepared.classes,
        "labels": list(labels),
        "notes": notes,
    }


def export_onnx(run: RunFolder, target: Location, *, overwrite: bool = False) -> dict[str, Any]:
    """Write a run's model as an ONNX graph that takes raw rows.

    See `expansion_onnx`; for more than two classes `ovo_onnx` and `ovr_onnx`.

    Parameters
    ----------
    run : RunFolder
    target : Location
        The file.
    overwrite : bool, default False
        Whether an existing file is replaced.

    Returns
    -------
    dict
        ``model`` (its place), ``n_support``, ``classes`` and ``notes`` for the user.

    Raises
    ------
    InputError
        If the model is not committed or not a sum of kernel values, the package onnx is not
        installed, or the file would be larger than 2 GB.
    """
    prepared = Preparation.read(run)
    made_of, fill = prepared.columns, None
    columns: tuple[Column, ...] = ()
    if made_of is not None:
        fill = made_of.fills
        if fill is None and not made_of.is_plain:
            columns = onnx_columns(made_of)
    output(target, "file", overwrite=overwrite)
    classes = label_array(prepared.labels) if prepared.labels else None
    own, scaling = prepared.scaling, RowScaling(fill=fill, columns=columns)
    if own is not None:
        scaling = RowScaling(own.offset, own.factor, own.kind == "unit", fill, columns)
    model = load_model(run, choose_model(run, "exact").stage)
    if classes is not None and isinstance(model.scheme, OneVsOne):
        made = ovo_onnx(model, classes, scaling=scaling)
    elif classes is not None and isinstance(model.scheme, OneVsRest):
        made = ovr_onnx(model, classes, scaling)
    elif isinstance(model.scheme, Outputs):
        made = outputs_onnx(model, scaling)
    else:
        _check_sum(run, model)
        coef, bias = model.coef[0] / model.n_blocks, float(model.bias.mean())
        made = expansion_onnx(model.kernel, model.support, coef, bias, classes, scaling)
    target.write_bytes(made.SerializeToString())
    notes = []
    if columns:
        notes.append(
            "its inputs are the columns of the table, each of shape (N, 1), numbers as float64, "
            f"words as strings: {', '.join(one.name for one in columns)}"
        )
    if any(one.codes is not None for one in columns):
        notes.append("give words without blanks around them, which the graph does not strip")
    if any(one.by_number for one in columns):
        notes.append("give categories that are numbers as 1 or 1.0: the graph knows no other form")
    if fill is not None:
        notes.append("the graph fills in medians where a value is NaN")
    if own is not None and not columns:
        notes.append("the graph scales rows: give them as they were before ingest")
    if prepared.reading.get("first_feature") == 1:
        notes.append("feature 1 of the training file is column 0 of the input")
    of_row = bytes_of_pair(model.kernel) * model.n_support
    if of_row:
        notes.append(f"it takes {of_row / 1e6:.3g} MB of memory for each row of a batch")
    return {
        "model": target.url,
        "n_support": model.n_support,
        "classes": prepared.labels,
        "notes": notes,
    }


def export_svc(run: RunFolder) -> Any:
    """Return the exact model as a fitted scikit-learn SVC, SVR or OneClassSVM; see `to_svc`.

    The models of linear SVMs become a LinearSVC or a LinearSVR. Where the ingest scaled rows or
    made numbers of the columns of a table, it is a Pipeline that does the same first; see
    `with_preparation`.
    """
    prepared = Preparation.read(run)
    svc = _svc(run, prepared)
    if prepared.columns is not None or prepared.scaling is not None:
        return with_preparation(prepared, svc)
    if prepared.feature_names is not None:
        svc.feature_names_in_ = np.array(prepared.feature_names, dtype=object)
    return svc


def _svc(run: RunFolder, prepared: Preparation) -> Any:
    settings = settings_of(run)
    tol, classes = float(run.header["goals"]["tol"]), label_array(prepared.classes).tolist()
    _, options = options_of(run.header["settings"])
    linear = options.linear_parameters(settings.make_task())
    if linear is not None:
        return _linear_svm(run, classes, {**linear, "tol": tol})
    if len(prepared.classes) > 2:
        model, rows = _one_vs_one_of_rows(run)
        return to_ovo_svc(model, settings.C, tol, rows, classes, prepared.n_rows)
    task = settings.make_task()
    if not isinstance(task, Classification | Regression | NuRegression | OneClass):
        others = "as ONNX" if output_names(task) else "in LIBSVM's format or as ONNX"
        raise InputError(
            f"{run.place}: scikit-learn has no kernel machine for {task.name}; export it {others}"
        )
    exact = read_expansion(run)
    if len(exact.rows) < len(exact.coef):
        raise InputError(
            f"{run.place}: support vectors of scikit-learn's SVMs are rows of the training data; "
            f"those of a model of {settings.method} are not: export it in LIBSVM's format"
        )
    multiplier = run.node(choose_model(run, "exact").stage, "commit").record.get("multiplier", 1.0)
    trained = Trained(
        exact.kernel, exact.support, exact.rows, exact.coef, exact.bias, prepared.n_rows
    )
    if isinstance(task, Regression | NuRegression):
        epsilon = task.epsilon if isinstance(task, Regression) else multiplier
        return to_svr(trained, settings.C, tol, epsilon)
    if isinstance(task, OneClass):
        return to_one_class(trained, task.nu, tol)
    # A nu-SVC is the C-SVC with C = 1 / rho.
    C = settings.C / multiplier if isinstance(task, NuClassification) else settings.C
    return to_svc(trained, C, tol, classes)


def _one_vs_one_of_rows(run: RunFolder) -> tuple[Model, NDArray[np.int64]]:
    """Return the one-vs-one model with a support vector for each row, and these rows."""
    model, node = _one_vs_one(run, "an SVC"), run.node(choose_model(run, "exact").stage, "commit")
    alpha, representative = node.read("alpha"), representatives(run.node(ARRANGE, "commit"))
    codes = data_of(run).read_codes(0, alpha.shape[1])
    rows = np.flatnonzero(alpha.any(axis=0))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    # The model has one support vector for each representative, class after class.
    stands_for = rows if representative is None else representative[rows]
    distinct = np.unique(stands_for)
    distinct = distinct[np.argsort(codes[distinct], kind="stable")]
    if len(distinct) != model.n_support:
        raise InputError(f"{node.place}: damaged: alpha does not fit the support vectors")
    place = np.empty(alpha.shape[1], dtype=np.int64)
    place[distinct] = np.arange(len(distinct))
    counts = np.bincount(codes[rows], minlength=model.n_classes)[None, :]
    support = model.support[place[stands_for]]
    return replace(model, support=support, coef=alpha[:, rows], counts=counts), rows


def _linear_svm(run: RunFolder, classes: list[Any], words: dict[str, Any]) -> Any:
    """Return linear SVMs of two classes, of each against the rest, or of real targets."""
    settings, stage = settings_of(run), choose_model(run, "exact").stage
    model, task = load_model(run, stage), settings.make_task()
    if isinstance(model.scheme, OneVsOne):
        raise InputError(
            f"{run.place}: has an SVM for each pair of classes (one-vs-one), but a LinearSVC has "
            "one for each class; train with --multiclass ovr"
        )
    own = {"epsilon": task.epsilon} if isinstance(task, Regression) else {}
    return to_linear_svm(
        model.weights(),
        model.bias[0],
        classes if task.has_classes else None,
        n_iter=run.node(stage, "commit").record["passes"],
        C=settings.C,
        fit_intercept=settings.fit_intercept,
        random_state=settings.seed % (1 << 32),
        **own,
        **words,
    )
