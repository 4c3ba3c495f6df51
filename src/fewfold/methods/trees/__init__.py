"""Tree ensembles whose fitted state is plain arrays."""

from fewfold.methods.base import BOTH_TASKS, Candidate, Method
from fewfold.methods.parameters import Parameter, count, one_of

RECORDS = (
    Method(
        name="trees",
        target="fewfold.methods.trees.estimator:TreesClassifier",
        regressor="fewfold.methods.trees.estimator:TreesRegressor",
        tasks=BOTH_TASKS,
        cost_like="svm",
        parameters=(
            Parameter(
                "ensemble",
                one_of("extra", "forest", "boosting"),
                "extremely randomized trees, a random forest, or gradient boosting",
                "extra",
            ),
            Parameter("n_trees", count(), "of extra and forest", 100),
        ),
        candidate=Candidate(
            "Columns of different units, thresholds and interactions.", family="trees"
        ),
    ),
)
