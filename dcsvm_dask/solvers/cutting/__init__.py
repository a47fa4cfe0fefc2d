"""Linear SVMs by cutting planes in the primal: OCAS and the plain cutting plane algorithm."""

from dcsvm_dask.solvers.cutting.line_search import Events, bracket, edges_between, edges_to
from dcsvm_dask.solvers.cutting.losses import Losses
from dcsvm_dask.solvers.cutting.products import Products
from dcsvm_dask.solvers.cutting.solve import SHARE, Unit, mix, size_of, solve_cutting
from dcsvm_dask.solvers.cutting.state import CuttingSolution, Planes, State, Step

__all__ = [
    "SHARE",
    "CuttingSolution",
    "Events",
    "Losses",
    "Planes",
    "Products",
    "State",
    "Step",
    "Unit",
    "bracket",
    "edges_between",
    "edges_to",
    "mix",
    "size_of",
    "solve_cutting",
]
