"""Sequential minimal optimisation of a block whose kernel matrix is in memory."""
