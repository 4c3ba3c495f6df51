"""SVMs on kernels deformed along transformed copies, and baselines [invariance-2006]."""

from fewfold.methods.base import KernelType, Method, Needs
from fewfold.methods.parameters import (
    Parameter,
    Type,
    any_object,
    count,
    integer,
    list_of,
    null,
    number,
    one_of,
    positive,
    text,
)
from fewfold.methods.variants import VARIANT

_TRANSFORM = Parameter(
    "transform",
    text() | any_object() | Type({"type": "array"}),
    "invariance, a registered transform or a composition",
)
_GAMMA = Parameter("gamma", positive() | null(), "width of the RBF kernel")
_C = Parameter("C", positive() | null(), "penalty of margin errors")
_CV = Parameter("cv", integer(2) | null(), "folds of the labeled rows", 5)
_STRENGTHS = number(0) | list_of(number(0))

COPIES_PARAMETERS = (_TRANSFORM, _GAMMA, _C, _CV)
INVARIANT_PARAMETERS = (
    VARIANT,
    *COPIES_PARAMETERS,
    Parameter("base", one_of("rbf", "linear"), "base kernel", "rbf", argument="kernel"),
    Parameter(
        "copies_graph", one_of("orbit", "knn"), "how the copies of a sample are joined", "orbit"
    ),
    Parameter("n_neighbors", integer(1, 10000), "neighbors of a copy, with copies_graph: knn", 5),
    Parameter(
        "deformation",
        _STRENGTHS,
        "strength along the copies, or several; by default those of the variant",
    ),
    Parameter("data_deformation", _STRENGTHS, "strength along the data graph"),
    Parameter("data_power", one_of(1, 2, 3), "power of the data graph's Laplacian", 2),
    Parameter("solver", one_of("auto", "exact", "lowrank"), "how the kernel is deformed", "auto"),
    Parameter("n_landmarks", count(), "size of the low-rank solver's subspace", 3000),
)

# What the kernels depend on that the SVM chooses among.
_OF_KERNEL = ("variant", "transform", "gamma", "base", "copies_graph", "n_neighbors", "deformation")

RECORDS = (
    KernelType(
        name="deformed",
        target="fewfold.methods.invariance.kernel_stage:DeformedKernel",
        needs=Needs(graph="must", kernel="may"),
        cost_like="rbf",
        parameters=(
            Parameter("base", one_of("rbf", "linear"), "base kernel of the features", "rbf"),
            Parameter("gamma", positive() | one_of("median"), "width of the base kernel"),
            Parameter(
                "deformation", number(0), "strength of the deformation along the graph", 1000
            ),
            Parameter("power", count(), "power of the graph's Laplacian", 2),
            Parameter("n_landmarks", count(), "landmarks of large matrices", 3000),
        ),
    ),
    KernelType(
        name="invariant",
        target="fewfold.methods.invariance.copies_kernel:InvariantKernel",
        by_budget=("type", "invariant"),
        matrices=9,
        cost_like="rbf",
        parameters=tuple(p for p in INVARIANT_PARAMETERS if p.name in _OF_KERNEL),
    ),
    Method(
        name="invariant_svm",
        target="fewfold.methods.invariance.estimator:InvariantSVC",
        needs=Needs(graph="may", kernel="may", copies=True, images=True),
        figures="fewfold.methods.invariance.figures:draw",
        parameters=INVARIANT_PARAMETERS,
    ),
    Method(
        name="virtual_support_vectors",
        target="fewfold.methods.invariance.baselines:VirtualSupportVectorSVC",
        needs=Needs(copies=True, images=True),
        cost_like="invariant_svm",
        parameters=COPIES_PARAMETERS,
    ),
    Method(
        name="virtual_samples",
        target="fewfold.methods.invariance.baselines:AllVirtualSVC",
        needs=Needs(copies=True, images=True),
        cost_like="invariant_svm",
        parameters=COPIES_PARAMETERS,
    ),
)
