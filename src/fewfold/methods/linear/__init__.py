"""Logistic and ridge regression."""

from fewfold.methods.base import REGRESSION, Candidate, Method
from fewfold.methods.parameters import Parameter, one_of, positive

RECORDS = (
    Method(
        name="logistic",
        target="fewfold.methods.linear.estimator:LogisticClassifier",
        cost_like="linear_svm",
        parameters=(Parameter("C", positive(), "inverse strength of the penalty", 1.0),),
        candidate=Candidate("Classes that a plane separates.", family="linear"),
    ),
    Method(
        name="ridge",
        target="fewfold.methods.linear.estimator:RidgeRegressor",
        tasks=(REGRESSION,),
        cost_like="linear_svm",
        parameters=(
            Parameter("kind", one_of("linear", "rbf"), "kernel", "linear", argument="kernel"),
            Parameter("width", positive(), "of the RBF, in medians of the squared distance", 1.0),
            Parameter(
                "target", one_of("value", "log"), "logarithms of values that are positive", "value"
            ),
        ),
        candidate=Candidate("Values that change smoothly with the columns.", family="linear"),
    ),
)
