"""Progress, status, summaries and reports of a run."""
