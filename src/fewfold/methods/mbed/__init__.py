"""Large-margin embedding: class boundaries are fixed and the data move [mbed-2005]."""

from fewfold.methods.base import Implied, ManifoldType, Method, Needs
from fewfold.methods.parameters import Parameter, count, integer, null, number, one_of, positive
from fewfold.methods.variants import VARIANT

MAX_EXACT = 5000
# What the neighborhoods depend on.
NEIGHBORHOOD_PARAMETERS = (
    VARIANT,
    Parameter(
        "similarity",
        one_of("auto", "global", "local", "diffused", "sparse"),
        "how neighborhoods are found",
    ),
    Parameter("perplexity", number(1), "effective number of neighbors", 5.0),
    Parameter("walk", number(above=0, below=1), "probability that the random walk continues", 0.97),
    Parameter("max_exact", count(), "rows up to which the gradient is exact", MAX_EXACT),
    Parameter("n_neighbors", integer(1, 10000), "neighbors of the sampled gradient", 30),
)

RECORDS = (
    ManifoldType(
        name="sne",
        target="fewfold.methods.mbed.stage:fit_manifold",
        needs=Needs(graph="may"),
        parameters=NEIGHBORHOOD_PARAMETERS,
    ),
    Method(
        name="mbed",
        target="fewfold.methods.mbed.estimator:MbedClassifier",
        needs=Needs(graph="may", manifold=("sne",), manifold_wish="may"),
        implies=Implied("sne"),
        clusters=True,
        holds_all_pairs=("max_exact", MAX_EXACT),
        figures="fewfold.methods.mbed.figures:draw",
        parameters=(
            *NEIGHBORHOOD_PARAMETERS,
            Parameter(
                "start", one_of("random", "spectral", "labels"), "where the annealing begins"
            ),
            Parameter("n_dims", count() | null(), "dimensions of the embedding"),
            Parameter("boundary_weight", positive(), "factor of the Jensen-Shannon term", 1.0),
            Parameter(
                "label_distance", positive(), "distance at which a label is certain, in radii", 2.0
            ),
            Parameter("n_annealing", integer(2), "annealing steps", 20),
            Parameter("n_steps", integer(12), "gradient steps in all", 500),
            Parameter("n_init", count(), "runs, of which the best is kept", 1),
            Parameter("n_samples", count(), "columns of the sampled gradient", 2000),
        ),
    ),
)
