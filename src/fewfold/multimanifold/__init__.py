"""Multi-manifold semi-supervised learning (Goldberg, Zhu, Singh, Xu and Nowak, 2009).

Data on several manifolds that cross, overlap or differ in density are split into decision sets
by a spectral clustering of a graph whose weights compare the local covariances of the points;
one supervised learner then works in each set.
"""

from fewfold.multimanifold.estimators import MultiManifoldClassifier, MultiManifoldRegressor
from fewfold.multimanifold.partition import Partition, PartitionSettings, partition

__all__ = [
    "MultiManifoldClassifier",
    "MultiManifoldRegressor",
    "Partition",
    "PartitionSettings",
    "partition",
]
