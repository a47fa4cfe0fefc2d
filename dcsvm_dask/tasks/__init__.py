"""What is learned: targets become a dual problem, and its variables decision values and scores.

A task is the only place that knows a loss. No solver, no Dask, no files.
"""

from dcsvm_dask.tasks.checking import check_nu
from dcsvm_dask.tasks.class_tallies import (
    ACCURACY,
    AUC,
    BALANCED_ACCURACY,
    SCORINGS,
    BalancedHits,
    auc_error,
    share_error,
)
from dcsvm_dask.tasks.classification import (
    Classification,
    checked_labels,
    svc_dual,
)
from dcsvm_dask.tasks.dual import Dual
from dcsvm_dask.tasks.nu import NuClassification, NuRegression, has_margin, scale_of_decisions
from dcsvm_dask.tasks.one_class import OneClass
from dcsvm_dask.tasks.quantiles import (
    Quantiles,
    checked_quantiles,
    crossing,
    is_several,
    members_of,
    output_names,
)
from dcsvm_dask.tasks.registry import (
    DATA_TASKS,
    OF_TASKS,
    ONE_CLASS,
    SUPERVISED,
    TASKS,
    WITH_COMMITTEE,
    WITHOUT_C,
    make_task,
    task_and_type,
    task_name,
    words_of_task,
)
from dcsvm_dask.tasks.regression import Quantile, RealTargets, Regression
from dcsvm_dask.tasks.scores import main_key, main_score, score_text, scores_in
from dcsvm_dask.tasks.squared import SQUARED_HINGE, SquaredLoss, SquaredTube, squared_loss
from dcsvm_dask.tasks.tally import Tally, tally_of
from dcsvm_dask.tasks.task import Task

__all__ = [
    "ACCURACY",
    "AUC",
    "BALANCED_ACCURACY",
    "DATA_TASKS",
    "OF_TASKS",
    "ONE_CLASS",
    "SCORINGS",
    "SQUARED_HINGE",
    "SUPERVISED",
    "TASKS",
    "WITHOUT_C",
    "WITH_COMMITTEE",
    "BalancedHits",
    "Classification",
    "Dual",
    "NuClassification",
    "NuRegression",
    "OneClass",
    "Quantile",
    "Quantiles",
    "RealTargets",
    "Regression",
    "SquaredLoss",
    "SquaredTube",
    "Tally",
    "Task",
    "auc_error",
    "check_nu",
    "checked_labels",
    "checked_quantiles",
    "crossing",
    "has_margin",
    "is_several",
    "main_key",
    "main_score",
    "make_task",
    "members_of",
    "output_names",
    "scale_of_decisions",
    "score_text",
    "scores_in",
    "share_error",
    "squared_loss",
    "svc_dual",
    "tally_of",
    "task_and_type",
    "task_name",
    "words_of_task",
]
