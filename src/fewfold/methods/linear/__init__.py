"""Logistic and ridge regression."""
