"""Stochastic gradient descent on a budget of support vectors, as a method of training.

Parameters and layout (`options`), the order of the rows (`order`), the graph and its nodes, the
model, and the plan. The steps themselves are in `dcsvm_dask.solvers.budget`.
"""
