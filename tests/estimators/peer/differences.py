"""The tests of scikit-learn's SVC and LinearSVC that DCSVC and LinearDCSVC do not pass, and why.

A * in a name stands for anything. docs/estimators.md says what of it users may meet.
"""

from __future__ import annotations

FLOAT32_ROWS = "rows are held in float32"
PRIVATE = "the test changes private attributes of SVC"

FAILURES = {
    "test_svm.py::test_precomputed": (
        f"{FLOAT32_ROWS}, a precomputed kernel in float64: they differ by more than 1e-6"
    ),
    "test_svm.py::test_svc_clone_with_callable_kernel": (
        f"{FLOAT32_ROWS}, a callable's values in float64: they differ by more than 1e-6"
    ),
    "test_svm.py::test_svc_nonfinite_params[42]": (
        f"{FLOAT32_ROWS}: values of 1e308 are refused by that name, before any coefficient"
    ),
    "test_sparse.py::test_sparse_decision_function[*]": (
        f"{FLOAT32_ROWS}: products of the coefficients with rows in float64 differ by 1e-7"
    ),
    "test_svm.py::test_tweak_params": PRIVATE,
    "test_svm.py::test_svc_raises_error_internal_representation": PRIVATE,
    "test_svm.py::test_linear_svm_convergence_warnings[42]": (
        "LIBLINEAR stops at max_iter=2, short of the solution; Newton's method has it by then"
    ),
}
"""Tests that fail, and the reason."""

REFUSALS = {
    "test_svm.py::test_bad_input[*]": "a model of dense rows decides sparse ones",
    "test_svm.py::test_sparse_precomputed[*]": "a precomputed kernel may be sparse",
}
"""Tests that pass but for an input that SVC refuses and we take, and which."""
