"""The bodies of graph nodes: open arrays, call numerics, write arrays, return a small record.

No Dask in here: a step can be called by hand.
"""
