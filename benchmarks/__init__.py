"""Measurements that take longer than tests: `python -m benchmarks.NAME`."""
