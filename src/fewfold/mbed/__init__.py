"""Mbed: large-margin non-linear embedding (Zien and Quinonero-Candela, 2005).

`cost` defines the terms, `gradient` and `sampled` compute them fast, `annealing` is Algorithm 1,
`placement` finds positions for new points, and `classifier` wraps all as an estimator, imported
when first asked for.
"""

__all__ = ["MbedClassifier"]


def __getattr__(name):
    if name == "MbedClassifier":
        from fewfold.mbed.classifier import MbedClassifier

        return MbedClassifier
    raise AttributeError(f"module 'fewfold.mbed' has no attribute {name!r}")
