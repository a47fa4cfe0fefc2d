"""Foreign files as blocks of rows: svmlight, CSV, NumPy, Parquet; their labels and scaling.

Storing the blocks is the task of `storage`.
"""
