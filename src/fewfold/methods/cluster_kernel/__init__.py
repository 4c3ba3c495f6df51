"""Kernel logistic regression on co-clustering by k-means."""

from fewfold.methods.base import Candidate, Method
from fewfold.methods.parameters import Parameter, count, positive

_MOST_LABELS = 2000


def _rbf(width, C):
    return Candidate(
        "Smooth boundaries between classes.", name=f"rbf_{width:g}_{C:g}", family="rbf",
        settings={"n_clusters": 1, "width": width, "C": C},
        max_labels=_MOST_LABELS,
    )  # fmt: skip


def _clusters(k):
    return Candidate(
        "Classes that are clusters, or a few of them.", name=f"clusters_{k}",
        family="clusters", settings={"n_clusters": k}, max_rows=50_000, max_labels=_MOST_LABELS,
    )  # fmt: skip


RECORDS = (
    Method(
        name="cluster_kernel",
        target="fewfold.methods.cluster_kernel.estimator:ClusterKernelClassifier",
        cost_like="svm",
        parameters=(
            Parameter("n_clusters", count(), "clusters of k-means; 1 is the RBF kernel alone", 4),
            Parameter("n_runs", count(), "runs of k-means from different starts", 20),
            Parameter(
                "width",
                positive(),
                "width of the RBF kernel, in medians of the squared distance",
                1.0,
            ),
            Parameter("C", positive(), "inverse strength of regularization", 10.0),
        ),
        candidates=(
            *(_rbf(*s) for s in ((0.25, 10.0), (1.0, 10.0), (4.0, 10.0), (1.0, 100.0))),
            *(_clusters(k) for k in (2, 4, 10)),
        ),
    ),
)
