"""The bodies of graph nodes and of predictions.

A step opens arrays, calls numerics, writes arrays and returns a small record. No Dask
in here: a step can be called by hand.
"""
