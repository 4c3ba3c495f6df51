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

_SHORT_WAYS = {"method": "spreading", "alpha": 0.95, "priors": "estimated"}


def _plain(name, why, settings, **more):
    return Candidate(why, name=name, family="diffusion", settings=settings, rows="any", **more)


RECORDS = (
    Method(
        name="diffusion",
        target="fewfold.methods.diffusion.estimator:DiffusionClassifier",
        needs=Needs(graph="must"),
        parameters=(
            Parameter(
                "method",
                one_of("poisson", "spreading", "propagation"),
                "equation that is solved",
                "poisson",
            ),
            Parameter(
                "alpha",
                number(above=0, below=1),
                "of spreading: the nearer to 1, the farther labels reach",
                0.995,
            ),
            Parameter(
                "priors",
                null() | one_of("estimated", "uniform") | list_of(number()),
                "class priors, or how to find them",
            ),
            Parameter(
                "sources",
                one_of("labels", "classes"),
                "of Poisson learning: whether each label or each class is a source of strength 1",
                "classes",
            ),
            Parameter("tol", positive(), "relative residual that counts as solved", 1e-5),
            Parameter("max_iter", count(), "iterations of the solver at most", 2000),
        ),
        candidates=(
            _plain(
                "diffusion",
                "Labels diffused over the graph, with the labels' class shares.",
                {"priors": "estimated", "sources": "labels"},
                class_shares="labels",
                quick=True,
            ),
            _plain(
                "diffusion_equal",
                "The same, with classes of equal size.",
                {"priors": "uniform", "sources": "labels"},
                class_shares="equal",
            ),
            _plain("diffusion_free", "The same, with classes of any size.", {"sources": "labels"}),
            _plain(
                "spreading",
                "Labels that reach less far over the graph.",
                _SHORT_WAYS,
                class_shares="labels",
                graph="near",
            ),
            Candidate(
                "Images (or series) that differ by small deformations, from few labels.",
                name="image_diffusion",
                family="images",
                rows="images",
                graph="images",
                trusted=True,
                quick=True,
            ),
            Candidate(
                "The same, with labels that reach less far.",
                name="image_spreading",
                family="images",
                # Short ways: with up to 100 labels better than the default of 0.995.
                settings={"method": "spreading", "alpha": 0.9},
                rows="images",
                graph="images",
            ),
        ),  # fmt: skip
    ),
)
