"""Logistic and ridge regression."""

from fewfold.methods.base import REGRESSION, Candidate, Method
from fewfold.methods.parameters import Parameter, one_of, positive

RECORDS = (
    Method(
        name="logistic",
        target="fewfold.methods.linear.estimator:LogisticClassifier",
        cost_like="linear_svm",
        parameters=(Parameter("C", positive(), "inverse strength of regularization", 1.0),),
        candidates=tuple(
            Candidate(
                "Classes that a plane separates.",
                name=f"logistic_{C:g}",
                family="linear",
                settings={"C": C},
                max_labels=10_000,
            )
            for C in (0.1, 1.0, 10.0)
        ),  # fmt: skip
    ),
    Method(
        name="ridge",
        target="fewfold.methods.linear.estimator:RidgeRegressor",
        tasks=(REGRESSION,),
        cost_like="linear_svm",
        parameters=(
            Parameter("kind", one_of("linear", "rbf"), "kernel", "linear", argument="kernel"),
            Parameter(
                "width",
                positive(),
                "width of the RBF kernel, in medians of the squared distance",
                1.0,
            ),
            Parameter(
                "target", one_of("value", "log"), "logarithms of values that are positive", "value"
            ),
        ),
        candidates=(
            *(
                Candidate(
                    "Sums of columns.",
                    family="linear",
                    name=f"ridge{suffix}",
                    max_labels=5000,
                    settings={"target": target},
                )
                for target, suffix in (("value", ""), ("log", "_log"))
            ),
            *(
                Candidate(
                    "Values that change smoothly with the columns.",
                    family="kernel",
                    name=f"kernel_ridge_{width:g}{suffix}",
                    max_labels=5000,
                    max_rows=10**5,
                    settings={"kind": "rbf", "width": width, "target": target},
                )
                for target, suffix in (("value", ""), ("log", "_log"))
                for width in (1.0, 4.0, 16.0)
            ),
        ),  # fmt: skip
    ),
)
