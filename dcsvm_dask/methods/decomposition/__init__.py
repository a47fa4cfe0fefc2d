"""Parallel decomposition of the whole problem (Brugger 2006): one working set after the other."""
