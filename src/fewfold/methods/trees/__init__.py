"""Tree ensembles whose fitted state is plain arrays."""

from fewfold.methods.base import BOTH_TASKS, REGRESSION, Candidate, Method
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
            Parameter("n_trees", count(), "number of trees of extra and forest", 100),
        ),
        candidates=(
            Candidate(
                "Columns of different units, thresholds and interactions.",
                name="extra_trees",
                settings={"ensemble": "extra"},
                quick=True,
                family="trees",
            ),
            Candidate(
                "The same, from samples of the labels.",
                name="forest",
                settings={"ensemble": "forest"},
                family="trees",
            ),
            Candidate(
                "Sums of small steps.",
                name="boosting",
                settings={"ensemble": "boosting"},
                tasks=(REGRESSION,),
                family="trees",
            ),
        ),  # fmt: skip
    ),
)
