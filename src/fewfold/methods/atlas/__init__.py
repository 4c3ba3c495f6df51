"""SVMs on an atlas of overlapping affine charts [atlas-2014]."""

from fewfold.methods.base import KernelType, ManifoldType, Method, Needs
from fewfold.methods.parameters import (
    Parameter,
    boolean,
    count,
    integer,
    null,
    number,
    one_of,
    positive,
)
from fewfold.methods.variants import VARIANT

_ASSIGNMENT = Parameter(
    "assignment", one_of("soft", "hard"), "weights by error, or membership only", "soft"
)
_NORMALIZE = Parameter("normalize", boolean(), "divide by the root of both self-similarities", True)
_GAMMA = Parameter("gamma", positive() | null(), "width of the weights")
_SIGMA = Parameter("sigma", positive() | null(), "width of the local kernel")
BUDGET = "budget"
_Q = Parameter("q", count(), "charts that encode a point", 10)

_SVM_PARAMETERS = (
    VARIANT,
    Parameter(
        "kind",
        one_of("rbf", "linear", "quad", "quadcross", "nearest"),
        "kernel or features within charts",
        "rbf",
        argument="kernel",
    ),
    Parameter(
        "scheme",
        one_of("auto", "pairs", "rest"),
        "each pair of classes, or one against the rest; by default that of the variant",
    ),
    _ASSIGNMENT,
    Parameter(
        "normalize",
        boolean(),
        "divide by the root of both self-similarities; by default that of the variant",
    ),
    Parameter(
        "balanced",
        boolean(),
        "errors of a pair's smaller class weigh more; by default that of the variant",
    ),
    _GAMMA,
    _SIGMA,
    Parameter("C", positive() | null(), "penalty of margin errors"),
    Parameter("solver", one_of("auto", "batch", "sgd"), "solver of linear SVMs"),
    Parameter(
        "cv", integer(2) | null(), "folds of the labeled points; by default that of the variant"
    ),
)

ATLAS_PARAMETERS = (
    _Q,
    Parameter("n_dims", count() | null(), "dimension of the charts"),
    Parameter("mdl", positive() | null(), "penalty of a chart"),
    Parameter("mdl_factor", positive(), "larger gives fewer and larger charts"),
    Parameter("finer", positive() | null(), "chart penalty of a second and finer atlas"),
    Parameter("n_neighbors", count() | null(), "neighbors in the graph that share a chart"),
    Parameter("n_proposals", count() | null(), "charts proposed"),
    Parameter("proposal_size", integer(2) | null(), "points per proposal"),
    Parameter("n_candidates", count(), "cheapest charts a point considers"),
    Parameter("potts", number(0), "penalty of neighbors in different charts"),
    Parameter("max_rounds", count(), "rounds of assignment and refit at most"),
    Parameter("max_features", count() | null(), "principal components worked in"),
)

RECORDS = (
    ManifoldType(
        name="atlas",
        target="fewfold.methods.atlas.stage:fit_manifold",
        needs=Needs(graph="must"),
        encoder="fewfold.methods.atlas.encoding:encode_rows",
        encoder_options=("q",),
        parameters=ATLAS_PARAMETERS,
    ),
    KernelType(
        name="atlas",
        target="fewfold.methods.atlas.kernel_stage:AtlasKernel",
        needs=Needs(manifold=("atlas",)),
        by_budget=("sigma", BUDGET),
        cost_like="rbf",
        parameters=(
            Parameter(
                "kind",
                one_of("rbf", "linear", "affine", "quad", "quadcross"),
                "kernel within a chart",
                "rbf",
            ),
            _ASSIGNMENT,
            _NORMALIZE,
            _GAMMA,
            Parameter(
                "sigma",
                positive() | null() | one_of(BUDGET),
                "width of the local kernel; budget: a matrix per number of labels, as atlas_svm "
                "takes it",
            ),
        ),
    ),
    Method(
        name="atlas_svm",
        target="fewfold.methods.atlas.estimator:AtlasSVC",
        needs=Needs(manifold=("atlas",), kernel="may"),
        figures="fewfold.methods.atlas.figures:draw",
        parameters=_SVM_PARAMETERS,
    ),
)
