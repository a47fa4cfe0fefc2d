"""A search over C, the kernel's parameters and the epsilon of regression."""
