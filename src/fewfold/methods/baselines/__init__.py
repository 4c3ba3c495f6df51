"""Baselines: supervised learners, and scikit-learn's label spreading."""

from fewfold.methods.base import BOTH_TASKS, REGRESSION, Candidate, KernelType, Method, Needs
from fewfold.methods.parameters import Parameter, count, integer, number, one_of, positive

_NUMBER_OR_CV = positive() | one_of("cv")
_C = Parameter("C", _NUMBER_OR_CV, "penalty C of margin errors, or cv for cross-validation", "cv")
_GAMMA = Parameter("gamma", _NUMBER_OR_CV, "width of the RBF kernel, or cv", "cv")
_SMOOTHING = Parameter(
    "smoothing", number(0, below=1), "weight of the neighbors in a row's prediction", 0.9
)
_CHOOSE_ROWS = Parameter(
    "choose_rows", integer(10), "largest number of labeled rows in cross-validation"
)

_FEATURE_SVM = (
    Parameter("kind", one_of("linear", "rbf"), "kernel", "rbf", argument="kernel"),
    Parameter(
        "scheme",
        one_of("rest", "pairs"),
        "of linear SVMs: each class against the rest, or pairs",
        "rest",
    ),
    _C,
    _GAMMA,
    _CHOOSE_ROWS,
)

RECORDS = (
    KernelType(
        name="linear", target="fewfold.svm.kernels:FeatureKernel", cost_like="rbf", parameters=()
    ),
    KernelType(
        name="rbf",
        target="fewfold.svm.kernels:FeatureKernel",
        parameters=(
            Parameter(
                "gamma",
                positive() | one_of("median", "cv"),
                "width, or median for the data's own, or cv to let the learner choose",
                "cv",
            ),
        ),
    ),
    Method(
        name="knn",
        target="fewfold.methods.baselines.knn:KNNClassifier",
        regressor="fewfold.methods.baselines.knn:KNNRegressor",
        tasks=BOTH_TASKS,
        light=True,
        parameters=(
            Parameter(
                "n_neighbors",
                count() | one_of("cv"),
                "a number, or cv for cross-validation on the labeled points",
                "cv",
            ),
            Parameter("metric", one_of("euclidean", "cosine"), "distance", "euclidean"),
        ),
        candidates=(
            Candidate("Classes that nearby labels decide.", rows="sparse"),
            Candidate("Values that nearby rows share.", tasks=(REGRESSION,), rows="any"),
        ),
    ),
    Method(
        name="linear_svm",
        target="fewfold.methods.baselines.linear_svm:LinearSVM",
        light=True,
        parameters=(_C,),
        candidates=(Candidate("Texts and counts, where single columns decide.", rows="sparse"),),
    ),
    Method(
        name="svm",
        target="fewfold.methods.baselines.kernel_svm:KernelSVC",
        needs=Needs(kernel="must"),
        light=True,
        parameters=(_C, _GAMMA),
    ),
    Method(
        name="feature_svm",
        target="fewfold.methods.baselines.feature_svm:FeatureSVC",
        cost_like="linear_svm",
        parameters=_FEATURE_SVM,
    ),
    Method(
        name="graph_svm",
        target="fewfold.methods.baselines.kernel_svm:GraphSVC",
        needs=Needs(graph="must", kernel="must"),
        cost_like="svm",
        parameters=(_C, _GAMMA, _SMOOTHING),
    ),
    Method(
        name="metric_svm",
        target="fewfold.methods.baselines.metric:MetricSVC",
        needs=Needs(graph="must"),
        cost_like="svm",
        parameters=(
            _C,
            Parameter(
                "gamma",
                _NUMBER_OR_CV,
                "width of the RBF kernel, over the median squared distance, or cv",
                "cv",
            ),
            Parameter(
                "prior", number(0), "weight of the neighbors' scatter in labeled rows per axis"
            ),
            _SMOOTHING,
        ),
        candidates=(
            Candidate("Columns that matter unequally.", rows="sparse", max_labels=2000),
            # On tables with fewer labels it changed nothing (docs/notes/answer.md).
            Candidate(
                "The same, of tables.",
                name="metric_svm_dense",
                family="metric_svm",
                min_labels=200,
                max_labels=2000,
                max_rows=50_000,  # all rows are answered and averaged without each fold
            ),
        ),
    ),
    Method(
        name="label_spreading",
        target="fewfold.methods.baselines.spreading:KNNLabelSpreading",
        light=True,
        parameters=(
            Parameter("n_neighbors", integer(1, 10000), "neighbors per point", 7),
            Parameter("alpha", number(above=0, below=1), "share of the neighbors", 0.2),
            Parameter("max_iter", count(), "iterations at most", 100),
        ),
    ),
    Method(
        name="kmeans",
        target="fewfold.methods.baselines.kmeans:NamedKMeans",
        clusters=True,
        cost_like="knn",
        parameters=(
            Parameter("n_clusters", count(), "one per class if not given"),
            Parameter("n_init", count(), "starts, of which the best is kept", 10),
        ),
    ),
)
