"""One map of all rows by LLE or LTSA, and classifiers on it: baselines for the atlas."""

from fewfold.methods.base import ManifoldType, Method, Needs
from fewfold.methods.parameters import Parameter, count, integer, one_of, positive

_NUMBER_OR_CV = positive() | one_of("cv")

_PARAMETERS = (
    Parameter(
        "kind",
        one_of("linear", "rbf", "nearest"),
        "SVM, or the nearest label",
        "linear",
        argument="kernel",
    ),
    Parameter("C", _NUMBER_OR_CV, "penalty of margin errors", "cv"),
    Parameter("gamma", _NUMBER_OR_CV, "width of the RBF kernel", "cv"),
    Parameter(
        "choose_rows", integer(10), "largest number of labeled rows in cross-validation", 3000
    ),
)

RECORDS = (
    ManifoldType(
        name="embedding",
        target="fewfold.methods.embedding.stage:fit_manifold",
        encoder="fewfold.methods.embedding.stage:encode_rows",
        cost_like="eigenbasis",
        parameters=(
            Parameter("method", one_of("lle", "ltsa"), "one map of all rows", "lle"),
            Parameter("n_dims", count(), "dimensions of the map", 10),
            Parameter("n_neighbors", integer(1, 10000), "neighbors per point"),
        ),
    ),
    Method(
        name="embedded",
        target="fewfold.methods.embedding.estimator:EmbeddedClassifier",
        needs=Needs(manifold=("embedding",)),
        cost_like="eigenbasis",
        parameters=_PARAMETERS,
    ),
)
