"""Solvers for the dual quadratic programs, one a file: arrays in, arrays out.

No Dask, no Zarr, no files; a solver never knows where a problem comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcsvm_dask.lazy import on_first_use
from dcsvm_dask.solvers.decomposition import solve_decomposition
from dcsvm_dask.solvers.divide import solve_blocks
from dcsvm_dask.solvers.inner.solve import INNER_SOLVERS, solve_inner
from dcsvm_dask.solvers.machines import (
    SCHEMES,
    Machine,
    Output,
    SolvedMachine,
    coefficient_rows,
    labels_of_classes,
    largest_machine,
    machines_of,
    scheme_of,
)
from dcsvm_dask.solvers.machines_of_rows import solve_machines
from dcsvm_dask.solvers.nu import NuSolution, solve_nu, solve_nu_matrix
from dcsvm_dask.solvers.optimality import (
    balanced,
    bias,
    duality_gap,
    eased,
    multiplier_interval,
    objective,
    sign_multipliers,
    size_multiplier,
    violation,
    violation_box,
    violation_pair,
)
from dcsvm_dask.solvers.parallel import ParallelRule, Share, ShareRows, WorkingSet
from dcsvm_dask.solvers.parallel.solve import number_of_shares, solve_parallel
from dcsvm_dask.solvers.path import solve_next, stretched
from dcsvm_dask.solvers.set_choice import first_set, reach, select_set
from dcsvm_dask.solvers.shared_rows import (
    SHARED_FROM,
    CarryOut,
    Count,
    Part,
    PartSums,
    Product,
    SharedRows,
)
from dcsvm_dask.solvers.smo.solve import solve_smo
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.subsets import SubsetMachine, train_on_subsets
from dcsvm_dask.solvers.sums import brought_to_size, brought_to_sums, brought_to_task
from dcsvm_dask.solvers.whole import solve_whole
from dcsvm_dask.solvers.working_sets import inner_tol, solve_working_sets

if TYPE_CHECKING:
    from dcsvm_dask.solvers.box_qp import solve_box_qp
    from dcsvm_dask.solvers.budget.learner import (
        BudgetedLearner,
        BudgetedPoint,
        check_merge,
        far_merges,
        joined_points,
        timed_pieces,
    )
    from dcsvm_dask.solvers.budget.tables import MergeTables
    from dcsvm_dask.solvers.cutting import CuttingSolution, solve_cutting
    from dcsvm_dask.solvers.greedy.newton import Newton, RowSums
    from dcsvm_dask.solvers.greedy.rows import BasisRows
    from dcsvm_dask.solvers.greedy.solve import Expansion, grow_basis, solve_greedy
    from dcsvm_dask.solvers.linear.crammer_singer import ClassesSolution, solve_crammer_singer
    from dcsvm_dask.solvers.linear.descent import Chunks
    from dcsvm_dask.solvers.linear.free_bias import standing, step_of
    from dcsvm_dask.solvers.linear.l1 import solve_linear_l1
    from dcsvm_dask.solvers.linear.parts import (
        approach_free,
        descend_free,
        descend_part,
        gradient_part,
        joint_factors,
        measure_part,
        sum_part,
    )
    from dcsvm_dask.solvers.linear.primal import solve_linear_primal
    from dcsvm_dask.solvers.linear.problem import LinearSolution
    from dcsvm_dask.solvers.linear.solve import solve_linear, solve_linear_chunks, solve_linear_dual
    from dcsvm_dask.solvers.linear.trace import Trace
    from dcsvm_dask.solvers.online.solve import Learned, solve_online
    from dcsvm_dask.solvers.warm import (
        warm_up_budget,
        warm_up_classes,
        warm_up_cutting,
        warm_up_free_bias,
        warm_up_linear,
        warm_up_linear_dual,
        warm_up_on_demand,
        warm_up_online,
        warm_up_parallel,
        warm_up_steps,
    )
else:
    # What kernel SVMs in memory do without.
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "box_qp": ("solve_box_qp",),
            "budget.learner": (
                "BudgetedLearner",
                "BudgetedPoint",
                "check_merge",
                "far_merges",
                "joined_points",
                "timed_pieces",
            ),
            "budget.tables": ("MergeTables",),
            "cutting": ("CuttingSolution", "solve_cutting"),
            "greedy.newton": ("Newton", "RowSums"),
            "greedy.rows": ("BasisRows",),
            "greedy.solve": ("Expansion", "grow_basis", "solve_greedy"),
            "linear.crammer_singer": ("ClassesSolution", "solve_crammer_singer"),
            "linear.descent": ("Chunks",),
            "linear.free_bias": ("standing", "step_of"),
            "linear.l1": ("solve_linear_l1",),
            "linear.parts": (
                "approach_free",
                "descend_free",
                "descend_part",
                "gradient_part",
                "joint_factors",
                "measure_part",
                "sum_part",
            ),
            "linear.primal": ("solve_linear_primal",),
            "linear.problem": ("LinearSolution",),
            "linear.solve": ("solve_linear", "solve_linear_chunks", "solve_linear_dual"),
            "linear.trace": ("Trace",),
            "online.solve": ("Learned", "solve_online"),
            "warm": (
                "warm_up_budget",
                "warm_up_classes",
                "warm_up_cutting",
                "warm_up_free_bias",
                "warm_up_linear",
                "warm_up_linear_dual",
                "warm_up_on_demand",
                "warm_up_online",
                "warm_up_parallel",
                "warm_up_steps",
            ),
        },
    )

__all__ = [
    "INNER_SOLVERS",
    "SCHEMES",
    "SHARED_FROM",
    "BasisRows",
    "BudgetedLearner",
    "BudgetedPoint",
    "CarryOut",
    "Chunks",
    "ClassesSolution",
    "Count",
    "CuttingSolution",
    "Expansion",
    "Learned",
    "LinearSolution",
    "Machine",
    "MergeTables",
    "Newton",
    "NuSolution",
    "Output",
    "ParallelRule",
    "Part",
    "PartSums",
    "Product",
    "RowSums",
    "Share",
    "ShareRows",
    "SharedRows",
    "Solution",
    "SolvedMachine",
    "SubsetMachine",
    "Trace",
    "WorkingSet",
    "approach_free",
    "balanced",
    "bias",
    "brought_to_size",
    "brought_to_sums",
    "brought_to_task",
    "check_merge",
    "coefficient_rows",
    "descend_free",
    "descend_part",
    "duality_gap",
    "eased",
    "far_merges",
    "first_set",
    "gradient_part",
    "grow_basis",
    "inner_tol",
    "joined_points",
    "joint_factors",
    "labels_of_classes",
    "largest_machine",
    "machines_of",
    "measure_part",
    "multiplier_interval",
    "number_of_shares",
    "objective",
    "reach",
    "scheme_of",
    "select_set",
    "sign_multipliers",
    "size_multiplier",
    "solve_blocks",
    "solve_box_qp",
    "solve_crammer_singer",
    "solve_cutting",
    "solve_decomposition",
    "solve_greedy",
    "solve_inner",
    "solve_linear",
    "solve_linear_chunks",
    "solve_linear_dual",
    "solve_linear_l1",
    "solve_linear_primal",
    "solve_machines",
    "solve_next",
    "solve_nu",
    "solve_nu_matrix",
    "solve_online",
    "solve_parallel",
    "solve_smo",
    "solve_whole",
    "solve_working_sets",
    "standing",
    "step_of",
    "stretched",
    "sum_part",
    "timed_pieces",
    "train_on_subsets",
    "violation",
    "violation_box",
    "violation_pair",
    "warm_up_budget",
    "warm_up_classes",
    "warm_up_cutting",
    "warm_up_free_bias",
    "warm_up_linear",
    "warm_up_linear_dual",
    "warm_up_on_demand",
    "warm_up_online",
    "warm_up_parallel",
    "warm_up_steps",
]
