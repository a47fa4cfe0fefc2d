"""The tests of scikit-learn's SVC and LinearSVC that DCSVC and LinearDCSVC do not pass, and why.

A * in a name stands for anything.
"""

from __future__ import annotations

NO_KERNEL_VALUES = "kernels are named: neither precomputed ones nor callables"
NO_PROBABILITY = "there is no probability=True"
NO_PROBABILITY_NOR_CALLABLES = "there are neither probability=True nor callable kernels"
OTHER_WORDS = "the message has other words"
FLOAT32_ROWS = "rows are held in float32"
SOLVED = "SVC stops at max_iter, short of the solution; we solve it in so few steps"
PRIVATE = "the test changes private attributes of SVC"

FAILURES = {
    "test_svm.py::test_libsvm_parameters": "dual coefficients are off by 6e-9, not exact",
    "test_svm.py::test_tweak_params": PRIVATE,
    "test_svm.py::test_precomputed": NO_KERNEL_VALUES,
    "test_svm.py::test_svc_clone_with_callable_kernel": NO_KERNEL_VALUES,
    "test_svm.py::test_custom_kernel_not_array_input[SVC]": NO_KERNEL_VALUES,
    "test_sparse.py::test_svc_with_custom_kernel[*]": NO_KERNEL_VALUES,
    "test_svm.py::test_libsvm_convergence_warnings[42]": NO_KERNEL_VALUES,
    "test_sparse.py::test_timeout[*]": NO_KERNEL_VALUES,
    "test_sparse.py::test_sparse_svc_clone_with_callable_kernel[*]": NO_PROBABILITY_NOR_CALLABLES,
    "test_svm.py::test_probability[42]": NO_PROBABILITY,
    "test_svm.py::test_hasattr_predict_proba[42]": NO_PROBABILITY,
    "test_svm.py::test_probability_raises_futurewarning[*]": NO_PROBABILITY,
    "test_svm.py::test_svc_nusvc_probA_probB_deprecated[SVC]": NO_PROBABILITY,
    "test_sparse.py::test_svc[*]": NO_PROBABILITY,
    "test_sparse.py::test_unsorted_indices[*]": NO_PROBABILITY,
    "test_svm.py::test_decision_function_shape[42-SVC]": "break_ties is refused by fit",
    "test_svm.py::test_svc_invalid_break_ties_param[42-SVC]": "break_ties is refused by fit",
    "test_svm.py::test_negative_sample_weights_mask_all_samples[*-SVC]": OTHER_WORDS,
    "test_svm.py::test_negative_weights_svc_leave_just_one_label[*-SVC]": OTHER_WORDS,
    "test_svm.py::test_linearsvc_parameters[42-True-l1-*]": OTHER_WORDS,
    "test_svm.py::test_linearsvc_parameters[42-False-*-hinge]": OTHER_WORDS,
    "test_svm.py::test_svc_nonfinite_params[42]": FLOAT32_ROWS,
    "test_sparse.py::test_sparse_decision_function[*]": FLOAT32_ROWS,
    "test_svm.py::test_immutable_coef_property[42]": "coef_ can be written to, without effect",
    "test_svm.py::test_linear_svm_convergence_warnings[42]": SOLVED,
    "test_svm.py::test_gamma_scale": PRIVATE,
    "test_svm.py::test_svc_raises_error_internal_representation": PRIVATE,
    "test_svm.py::test_svm_with_infinite_C[42-*-SVC-*]": "C has to be finite",
}
"""Tests that fail, and the reason."""

REFUSALS = {
    "test_svm.py::test_bad_input[*]": "a model of dense rows decides sparse ones",
    "test_svm.py::test_sparse_precomputed[*]": "a sparse precomputed kernel is refused anyway",
}
"""Tests that pass but for an input that SVC refuses and we take, and which."""
