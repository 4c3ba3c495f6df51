"""One supervised learner per manifold of a partition [multimanifold-2009]."""

from fewfold.methods.base import BOTH_TASKS, Implied, ManifoldType, Method, Needs
from fewfold.methods.parameters import (
    Parameter,
    boolean,
    count,
    integer,
    null,
    one_of,
    positive,
)
from fewfold.methods.variants import VARIANT

MODES = ("ssl", "global", "clairvoyant")
_AUTO = one_of("auto")

# What the shape of the data depends on, and what a partition of it does.
SHAPE_PARAMETERS = (
    VARIANT,
    Parameter("n_neighbors", integer(2) | _AUTO, "rows of a local covariance", "auto"),
    Parameter("degree", count() | _AUTO, "neighbors in the graph", "auto"),
    Parameter(
        "ridge",
        positive() | _AUTO,
        "share of the mean variance that is added to covariances",
        "auto",
    ),
    Parameter("cell_ridge", positive() | _AUTO, "ridge of the decision sets' Gaussians", "auto"),
    Parameter("n_components", count() | null() | _AUTO, "principal components used", "auto"),
    Parameter("n_refits", integer(0), "refits of the covariances along the manifold"),
    Parameter("n_covers", count(), "covers from different starts"),
)
PARTITION_PARAMETERS = (
    Parameter("n_parts", count() | one_of("auto", "rule", "labels"), "decision sets", "auto"),
    Parameter("min_labeled", integer(0) | _AUTO, "least number of labeled rows in a part", "auto"),
    Parameter(
        "min_unlabeled", integer(0) | _AUTO, "least number of unlabeled rows in a part", "auto"
    ),
    Parameter("sigma", positive() | _AUTO, "bandwidth of the Hellinger weights", "auto"),
    Parameter("n_restarts", count(), "starts of the size-constrained k-means", 10),
    Parameter("restart_choice", one_of("ratio_cut", "objective"), "criterion of the kept start"),
    Parameter("unit_weights", boolean(), "all weights 1 instead of Hellinger's", False),
    Parameter("cells", one_of("gaussian", "euclidean"), "shape of the decision sets"),
)
PARAMETERS = (
    Parameter(
        "mode",
        one_of(*MODES),
        "partition: estimated, none, or the true one",
        "ssl",
    ),
    Parameter(
        "base",
        one_of("auto", "svm", "logistic", "nearest", "kernel", "ridge"),
        "learner of each part",
        "auto",
        argument="base_estimator",
    ),
    *PARTITION_PARAMETERS,
    *SHAPE_PARAMETERS,
)

RECORDS = (
    ManifoldType(
        name="hellinger",
        target="fewfold.methods.multimanifold.stage:fit_manifold",
        needs=Needs(graph="may"),
        encoder="fewfold.methods.multimanifold.stage:encode_draws",
        encoder_options=tuple(p.name for p in PARTITION_PARAMETERS),
        encoder_reads=("splits", "graph"),
        parameters=(*PARTITION_PARAMETERS, *SHAPE_PARAMETERS),
    ),
    Method(
        name="multimanifold",
        target="fewfold.methods.multimanifold.estimators:MultiManifoldClassifier",
        regressor="fewfold.methods.multimanifold.estimators:MultiManifoldRegressor",
        needs=Needs(graph="may", manifold=("hellinger",), manifold_wish="may", groups=True),
        implies=Implied("hellinger", unless=("mode", ("global", "clairvoyant"))),
        tasks=BOTH_TASKS,
        oracle=("mode", "clairvoyant"),
        figures="fewfold.methods.multimanifold.figures:draw",
        parameters=PARAMETERS,
    ),
)
