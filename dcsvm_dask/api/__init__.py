"""The doors for Python: `ingest`, `train`, `easy`, `search`, `resume`, `open_run`."""

from dcsvm_dask.api.easy_run import EasyRun, easy
from dcsvm_dask.api.ingesting import ingest
from dcsvm_dask.api.or_resuming import train_or_resume
from dcsvm_dask.api.pipelines import forget, run_pipeline
from dcsvm_dask.api.resuming import resume
from dcsvm_dask.api.run import Run, compare, open_run
from dcsvm_dask.api.searching import search
from dcsvm_dask.api.training import plan, plan_on, train
from dcsvm_dask.readers.memory import memory_bound
from dcsvm_dask.runtime.callbacks import Callback, StopRun
from dcsvm_dask.runtime.events import StageDone
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.workers import planned_workers

__all__ = [
    "Callback",
    "EasyRun",
    "Execution",
    "Run",
    "StageDone",
    "StopRun",
    "compare",
    "easy",
    "forget",
    "ingest",
    "memory_bound",
    "open_run",
    "plan",
    "plan_on",
    "planned_workers",
    "resume",
    "run_pipeline",
    "search",
    "train",
    "train_or_resume",
]
