"""Parallel decomposition: the gradient lies in shares of the rows, one working set after the other.

After Brugger, Parallel Support Vector Machines, WSI-2006-01, sections 4 and 5. Pure functions of
arrays: who calls them, and where, is not known here.
"""

from dcsvm_dask.solvers.parallel.candidates import Candidates, merged
from dcsvm_dask.solvers.parallel.choice import choose
from dcsvm_dask.solvers.parallel.rule import ParallelRule
from dcsvm_dask.solvers.parallel.share import Members, Share, ShareRows
from dcsvm_dask.solvers.parallel.working_set import WorkingSet

__all__ = [
    "Candidates",
    "Members",
    "ParallelRule",
    "Share",
    "ShareRows",
    "WorkingSet",
    "choose",
    "merged",
]
