"""Low-density separation: transductive SVMs on geodesic, Gaussian or linear features."""

from fewfold.methods.base import Candidate, Method
from fewfold.methods.parameters import Parameter, count, list_of, number, one_of, positive

_LIMITS = {"max_rows": 20_000, "max_labels": 2000}
_WHY = {
    "geodesic": "Classes that dense regions of any shape hold together.",
    "linear": "Classes with a gap along a line.",
    "rbf": "Classes with a curved gap between them.",
}


def _both(name, features, family):
    settings = {"features": features}
    yield Candidate(
        _WHY[features], name=name, family=family, settings=settings, class_shares="labels",
        **_LIMITS,
    )  # fmt: skip
    yield Candidate(
        _WHY[features], name=f"{name}_equal", family=family,
        settings={**settings, "priors": "equal"}, prepared_like=name,
        class_shares="equal", **_LIMITS,
    )  # fmt: skip


RECORDS = (
    Method(
        name="low_density",
        target="fewfold.methods.lds.estimator:LowDensityClassifier",
        cost_like="svm",
        parameters=(
            Parameter(
                "features",
                one_of("geodesic", "rbf", "linear"),
                "kernel of graph distances, RBF kernel, or the columns",
                "geodesic",
            ),
            Parameter("rho", number(0), "how much the longest edge of a path decides", 4.0),
            Parameter("n_neighbors", count(), "neighbors of a row in the graph", 5),
            Parameter(
                "width",
                positive(),
                "width of the RBF kernel, in medians of the squared distance",
                1.0,
            ),
            Parameter("n_features", count(), "principal features kept", 100),
            Parameter("C", positive(), "weight of a labeled row", 30.0),
            Parameter("unlabeled_weight", positive(), "weight of all unlabeled rows together", 1.0),
            Parameter(
                "priors",
                one_of("labels", "equal") | list_of(number()),
                "class priors, or how to find them",
                "labels",
            ),
            Parameter("max_landmarks", count(), "landmark rows of the kernel, at most", 1500),
        ),
        candidates=(
            *_both("low_density", "geodesic", "geodesic"),
            *_both("linear_tsvm", "linear", "tsvm"),
            *_both("rbf_tsvm", "rbf", "tsvm"),
        ),
    ),
)
