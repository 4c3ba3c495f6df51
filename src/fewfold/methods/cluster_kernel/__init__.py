"""Kernel logistic regression on how often k-means puts two rows together."""

from fewfold.methods.base import Candidate, Method
from fewfold.methods.parameters import Parameter, count, positive

RECORDS = (
    Method(
        name="cluster_kernel",
        target="fewfold.methods.cluster_kernel.estimator:ClusterKernelClassifier",
        cost_like="svm",
        parameters=(
            Parameter("n_clusters", count(), "of k-means; 1 for the RBF kernel alone", 4),
            Parameter("n_runs", count(), "of k-means, from different starts", 20),
            Parameter("width", positive(), "of the RBF, in medians of the squared distance", 1.0),
            Parameter("C", positive(), "inverse strength of the penalty", 10.0),
        ),
        candidate=Candidate("Classes that are clusters, or unions of them.", family="clusters"),
    ),
)
