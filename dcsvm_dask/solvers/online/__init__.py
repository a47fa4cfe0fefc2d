"""LaSVM: rows one by one."""
