"""What people see of a run: progress lines, status, summaries."""
