"""How many neighbors should share a chart: errors on training rows that are held out.

    FEWFOLD_MIRROR=... python benchmarks/atlas_choice.py usps digits semeion letter [--k 2 4 6]
    FEWFOLD_MIRROR=... python benchmarks/atlas_choice.py mnist --k 2 4 --rows 30000

Test rows are in the atlas, without labels, and are not looked at (``--rows``: a part of the
training rows alone). A fifth of the training rows is held out, three draws; digits and SEMEION have
no test rows.
"""

import argparse

import numpy as np

from fewfold.datasets import load
from fewfold.methods.atlas.estimator import AtlasSVC
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.base import ManifoldModel

BUDGETS = (100, 1000, None)
KERNELS = ("rbf", "linear", "quadcross")
GRAY = {"mnist": 255, "digits": 16}


def rows_of(name, n_rows):
    data = load(name)
    X = np.asarray(data.X, np.float32) / np.float32(GRAY.get(name, 1))
    y = np.asarray(data.y)
    train = np.arange(len(y)) if data.test_mask is None else np.flatnonzero(~data.test_mask)
    if n_rows is None:
        return X, y, train
    part = np.random.default_rng(77).permutation(train)[:n_rows]
    return X[part], y[part], np.arange(len(part))


def held_out_error(X, y, train, atlas, kernel, n_labels, draw):
    order = np.random.default_rng(1000 + draw).permutation(train)
    held, rest = order[: len(order) // 5], order[len(order) // 5 :]
    labels = np.full(len(y), -1)
    labels[rest[:n_labels]] = y[rest[:n_labels]]
    guess = AtlasSVC(kernel).fit(X, labels, manifold=ManifoldModel(atlas)).transduction_[held]
    return 100 * np.mean(guess != y[held])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--k", nargs="+", type=int, default=[2, 4, 6, 8, 10])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--kernels", nargs="+", default=KERNELS)
    args = parser.parse_args()
    for name in args.sets:
        X, y, train = rows_of(name, args.rows)
        for k in args.k:
            atlas = fit_atlas(X, {"n_neighbors": k})
            n_charts, n_dims, _ = atlas["directions"].shape
            several = np.mean(np.bincount(atlas["member_rows"]) > 1)
            print(f"{name}, {len(y)} rows, k = {k}: {n_charts} charts of {n_dims} dimensions,")
            print(f"    {several:.0%} of the rows in several")
            for n_labels in BUDGETS:
                if n_labels is not None and n_labels > len(train) / 2:
                    continue
                cells = []
                for kernel in args.kernels:
                    errors = [
                        held_out_error(X, y, train, atlas, kernel, n_labels, draw)
                        for draw in range(args.draws)
                    ]
                    spread = np.std(errors) / np.sqrt(len(errors))
                    cells.append(f"{kernel} {np.mean(errors):.2f} ± {spread:.2f}")
                print(f"    {n_labels or 'all'} labels:", ", ".join(cells), flush=True)


if __name__ == "__main__":
    main()
