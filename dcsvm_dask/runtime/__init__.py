"""Carries graphs out on Dask: clients, clusters, resume, the memory plan, compilation."""
