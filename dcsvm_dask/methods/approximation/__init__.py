"""Kernel approximations: a feature map and a linear SVM over its features."""
