"""Bagging (Breiman 1996) and the Bayesian committee machine (Tresp 2000) of its SVMs."""
