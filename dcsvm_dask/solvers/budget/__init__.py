"""Stochastic gradient descent for kernel SVMs on a budget of support vectors.

The tables of merges (`tables`), the arrays of an expansion (`state`), compiled steps (`arguments`,
`merging`, `steps`), and what calls them (`learner`). No epochs, shares or files here.
"""
