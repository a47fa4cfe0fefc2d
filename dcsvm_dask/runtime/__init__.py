"""Running the graphs of methods on Dask: clusters, events, retries, resume and memory checks."""
