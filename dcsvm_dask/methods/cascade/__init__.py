"""Cascade SVM (Graf, Cosatto, Bottou, Dourdanovic, Vapnik, NIPS 2005)."""
