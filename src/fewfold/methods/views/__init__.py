"""Images seen in several ways: graphs and orientation histograms, weighed by held-out labels."""

from fewfold.methods.base import Candidate, ManifoldType, Method, Needs
from fewfold.methods.parameters import Parameter, count, null, positive

_RANDOM = Parameter(
    "n_random", count() | null(), "random Fourier features; by default a fifth of the rows"
)
_RIDGE = Parameter("ridge", positive(), "penalty of the classifier of all rows", 1e-5)

RECORDS = (
    ManifoldType(
        name="views",
        target="fewfold.methods.views.description:fit_manifold",
        needs=Needs(images=True),
        cost_like="atlas",
        parameters=(_RANDOM, _RIDGE),
    ),
    Method(
        name="image_views",
        target="fewfold.methods.views.estimator:ImageViewsClassifier",
        needs=Needs(manifold=("views",), manifold_wish="may", images=True),
        cost_like="diffusion",
        parameters=(_RANDOM, _RIDGE),
        candidates=(
            Candidate(
                "Images: graphs and edges in several views, weighed by the labels.",
                family="images",
                rows="images",
                trusted=True,
            ),
        ),
    ),
)
