"""Least squares on the smoothest functions on a neighbor graph [eigenbasis-2002]."""

from fewfold.methods.base import Candidate, ManifoldType, Method, Needs
from fewfold.methods.parameters import Parameter, count, null, number, one_of, positive
from fewfold.methods.variants import VARIANT

RECORDS = (
    ManifoldType(
        name="eigenbasis",
        target="fewfold.methods.eigenbasis.basis:fit_manifold",
        needs=Needs(graph="must"),
        parameters=(
            Parameter("n_vectors", count(), "eigenvectors to keep", 200),
            Parameter(
                "laplacian",
                one_of("unnormalized", "symmetric", "random_walk"),
                "Laplacian whose eigenvectors these are",
                "random_walk",
            ),
            Parameter("tolerance", positive(), "largest residual allowed", 1e-5),
        ),
    ),
    Method(
        name="eigenbasis",
        target="fewfold.methods.eigenbasis.estimator:EigenbasisClassifier",
        needs=Needs(manifold=("eigenbasis",)),
        parameters=(
            VARIANT,
            Parameter(
                "n_vectors",
                number(above=0),
                "eigenvectors used, a number or a share of the labels",
                0.2,
            ),
            Parameter(
                "min_vectors",
                count() | null(),
                "least number of eigenvectors where a share is given; if not given, 200 are tried "
                "as well (published: 1)",
            ),
            Parameter(
                "max_vectors", count() | null(), "largest number of eigenvectors that a share gives"
            ),
            Parameter(
                "ridge",
                number(0) | one_of("loo"),
                "ridge penalty, or loo to choose it by leave-one-out error; by default that of the "
                "variant",
            ),
            Parameter("smoothness", positive(), "power of the eigenvalues in the penalty", 2.0),
            Parameter(
                "extension",
                one_of("nystrom", "harmonic"),
                "out-of-sample extension of the eigenvectors",
                "nystrom",
            ),
        ),
        candidates=(
            Candidate(
                "Smooth classes on one connected graph.",
                family="diffusion",
                rows="any",
                max_rows=10**5,
            ),
        ),
    ),
)
