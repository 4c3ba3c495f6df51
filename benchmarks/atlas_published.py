"""Cost of a chart, d and k of the published atlas, where the paper does not print them.

    FEWFOLD_MIRROR=... python benchmarks/atlas_published.py usps --cost 1000 --dims 10 15 20 --k 4 6
    FEWFOLD_MIRROR=... python benchmarks/atlas_published.py semeion --cost 100 --dims 20 30 --k 2 4

Pixels from 0 to 1 (LETTER: as it is read). For each atlas: the number of charts, and, as in the
paper's Section 5, those of one class, the purity of the median chart and the share of rows outside
of their chart's main class (``--no-folds``: these only; they are of all labels, as in the paper).
Then the least error of the published AtlasRBF and AtlasLinear in five folds of 2000 training labels
(SEMEION: of one half of the rows, a draw that the tables do not use) over the paper's powers of two
for gamma and sigma. Labels of test rows are not looked at in the folds.
"""

import argparse
from itertools import product

import numpy as np

from fewfold.datasets import load
from fewfold.methods.atlas.encoding import encode, take_rows
from fewfold.methods.atlas.estimator import AtlasSVC
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.atlas.selection import CHOOSE_ROWS, _wrong
from fewfold.svm.folds import stratified_folds

# Squares of the lengths in Eqs. 10 and 8.
GAMMA_SQUARED = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
SIGMA_SQUARED = (32.0, 64.0, 128.0)
PENALTIES = (1.0, 10.0)


def rows_of(name):
    """Return the rows, class codes, and which rows are labeled in training."""
    data = load(name)
    X = np.asarray(data.X, np.float32)
    X = {"usps": (X + 1) / 2, "mnist": X / 255}.get(name, X)
    codes = np.unique(data.y, return_inverse=True)[1]
    if data.test_mask is None:
        half = np.random.default_rng(2014).permutation(len(X))[: len(X) // 2]
        return X, codes, np.sort(half)
    return X, codes, np.flatnonzero(~data.test_mask)


def describe(atlas, codes):
    """Return the paper's description of the charts."""
    table = np.zeros((len(atlas["means"]), codes.max() + 1))
    np.add.at(table, (atlas["interior"], codes), 1)
    main = table.max(axis=1)
    purity = main / table.sum(axis=1)
    return (
        f"{len(main)} charts, {np.sum(purity == 1)} of one class, purity of the median chart "
        f"{100 * np.median(purity):.1f} %, {100 * (1 - main.sum() / len(codes)):.1f} % outside"
    )


def fold_error(kernel, atlas, code, codes, train, assignment="soft"):
    """Return the least error in folds of training labels, with its gamma^2, sigma^2 and C."""
    some = np.random.default_rng(0).permutation(train)[:CHOOSE_ROWS]
    part, own = take_rows(code, some), codes[some]
    folds = stratified_folds(own, 0, 5)
    model = AtlasSVC(kernel, variant="published", assignment=assignment)
    options = model._options(code, atlas, len(train), len(train) / len(codes))
    widths = SIGMA_SQUARED if kernel == "rbf" else (1.0,)
    weights = GAMMA_SQUARED if assignment == "soft" else (1.0,)
    tried = []
    for gamma, sigma, factor in product(weights, widths, PENALTIES):
        trial = options.replace(gamma=gamma**0.5, sigma=sigma**0.5)
        trial = trial.replace(C=factor * trial.penalty(part))
        tried.append((100 * _wrong(trial, part, own, folds) / len(own), gamma, sigma, factor))
    error, gamma, sigma, factor = min(tried)
    width = f", sigma^2 {sigma:g}" if kernel == "rbf" else ""
    return f"{kernel} {error:.2f} % (gamma^2 {gamma:g}{width}, C x {factor:g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=("usps", "semeion", "letter", "mnist"))
    parser.add_argument("--cost", nargs="+", type=float, default=[1000])
    parser.add_argument("--dims", nargs="+", type=int, default=[5, 10, 15, 20, 30])
    parser.add_argument("--k", nargs="+", type=int, default=[2, 4, 6])
    parser.add_argument("--kernels", nargs="+", default=["rbf", "linear"])
    parser.add_argument("--assignment", default="soft", choices=("soft", "hard"))
    parser.add_argument("--no-folds", action="store_true")
    args = parser.parse_args()
    X, codes, train = rows_of(args.name)
    for cost, d, k in product(args.cost, args.dims, args.k):
        kept = 150 if args.name == "mnist" else None
        settings = {"n_dims": d, "n_neighbors": k, "mdl": cost, "finer": None, "max_features": kept}
        atlas = fit_atlas(X, settings)
        print(f"cost {cost:g}, d = {d}, k = {k}:", describe(atlas, codes), flush=True)
        if args.no_folds:
            continue
        code = encode(X, atlas, 10, np.arange(len(X)))
        for kernel in args.kernels:
            error = fold_error(kernel, atlas, code, codes, train, args.assignment)
            print("    folds:", error, flush=True)


if __name__ == "__main__":
    main()
