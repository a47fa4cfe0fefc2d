"""What is learned: targets become a dual problem, and its variables decision values and scores.

A task is the only place that knows a loss. No solver, no Dask, no files.
"""

from dcsvm_dask.tasks.classification import (
    Classification,
    checked_labels,
    svc_dual,
)
from dcsvm_dask.tasks.dual import Dual
from dcsvm_dask.tasks.one_class import OneClass
from dcsvm_dask.tasks.quantiles import (
    Quantiles,
    checked_quantiles,
    crossing,
    is_several,
    members_of,
    output_names,
)
from dcsvm_dask.tasks.registry import OF_TASKS, SUPERVISED, TASKS, make_task
from dcsvm_dask.tasks.regression import Quantile, RealTargets, Regression
from dcsvm_dask.tasks.scores import main_score, score_text, scores_in
from dcsvm_dask.tasks.task import Task

__all__ = [
    "OF_TASKS",
    "SUPERVISED",
    "TASKS",
    "Classification",
    "Dual",
    "OneClass",
    "Quantile",
    "Quantiles",
    "RealTargets",
    "Regression",
    "Task",
    "checked_labels",
    "checked_quantiles",
    "crossing",
    "is_several",
    "main_score",
    "make_task",
    "members_of",
    "output_names",
    "score_text",
    "scores_in",
    "svc_dual",
]
