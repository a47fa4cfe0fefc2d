"""The progress of a run, live or from its folder, and the estimate of its end."""
