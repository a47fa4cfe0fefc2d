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
from dcsvm_dask.tasks.registry import (
    OF_TASKS,
    ONE_CLASS,
    SUPERVISED,
    TASKS,
    WITH_COMMITTEE,
    make_task,
)
from dcsvm_dask.tasks.regression import Quantile, RealTargets, Regression
from dcsvm_dask.tasks.scores import main_key, main_score, score_text, scores_in
from dcsvm_dask.tasks.tally import Tally, tally_of
from dcsvm_dask.tasks.task import Task

__all__ = [
    "OF_TASKS",
    "ONE_CLASS",
    "SUPERVISED",
    "TASKS",
    "WITH_COMMITTEE",
    "Classification",
    "Dual",
    "OneClass",
    "Quantile",
    "RealTargets",
    "Regression",
    "Tally",
    "Task",
    "checked_labels",
    "main_key",
    "main_score",
    "make_task",
    "score_text",
    "scores_in",
    "svc_dual",
    "tally_of",
]
