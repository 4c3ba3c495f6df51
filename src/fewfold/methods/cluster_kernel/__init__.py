"""Kernel logistic regression on how often k-means puts two rows together."""
