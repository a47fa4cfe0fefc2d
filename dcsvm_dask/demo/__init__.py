"""The data and the pipeline of ``dcsvm demo``."""
