"""A search over C and the kernel's parameters."""
