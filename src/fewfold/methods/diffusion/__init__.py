"""Labels diffused over a neighbor graph."""

from fewfold.methods.base import Candidate, Method, Needs
from fewfold.methods.parameters import (
    Parameter,
    count,
    list_of,
    null,
    number,
    one_of,
    positive,
)

RECORDS = (
    Method(
        name="diffusion",
        target="fewfold.methods.diffusion.estimator:DiffusionClassifier",
        needs=Needs(graph="must"),
        parameters=(
            Parameter(
                "method",
                one_of("poisson", "spreading", "propagation"),
                "equation that the labels obey",
                "poisson",
            ),
            Parameter("alpha", number(above=0, below=1), "of spreading", 0.995),
            Parameter(
                "priors",
                null() | one_of("estimated", "uniform") | list_of(number()),
                "class shares, or how to find them",
            ),
            Parameter(
                "sources",
                one_of("labels", "classes"),
                "of poisson, whether each label or each class is a source of strength 1",
                "labels",
            ),
            Parameter("tol", positive(), "relative residual that counts as solved", 1e-5),
            Parameter("max_iter", count(), "iterations of the solver at most", 2000),
        ),
        candidate=Candidate("Classes that follow the shape of the data, and few labels."),
    ),
)
