"""Is the USPS of the atlas paper ours? Errors of 1-NN by the preparation of pixels; penalties.

    FEWFOLD_MIRROR=... python benchmarks/usps_pixels.py nearest
    FEWFOLD_MIRROR=... python benchmarks/usps_pixels.py penalties

The paper prints 4.98 % for 1-NN. ``penalties``: test errors of AtlasRBF on the published atlas
with the printed gamma and sigma, by LibSVM's C. Both look at test labels to find the cause of a
difference; nothing in fewfold is set by them.
"""

import sys

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.svm import SVC

from fewfold.datasets import load
from fewfold.graph.neighbors import nearest_neighbors
from fewfold.methods.atlas.encoding import encode, take_rows
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.atlas.kernels import atlas_kernel_rows


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def preparations(X):
    """Yield names and rows; ``X`` holds pixels from -1 to 1."""
    ink = (X + 1) / 2
    share = ink / ink.sum(axis=1, keepdims=True)
    centered = X - X.mean(axis=1, keepdims=True)
    yield "as read", X
    yield "length 1, from 0 to 1", unit(ink)
    yield "length 1, from -1 to 1", unit(X)
    yield "each image centered, length 1", unit(centered)
    yield "each image divided by its largest", ink / ink.max(axis=1, keepdims=True)
    yield "each image sums to 1", share
    yield "roots of these", np.sqrt(share)
    yield "roots", np.sqrt(ink)
    yield "squares", ink**2
    yield "each pixel standardized", (X - X.mean(axis=0)) / X.std(axis=0)
    for level in (-0.99, -0.9, -0.8, -0.7, -0.5, 0.0, 0.5):
        yield f"above {level:g} or not", (level < X).astype(float)
    for width in (0.4, 0.5, 0.6, 0.75, 1.0):
        blurred = gaussian_filter(X.reshape(-1, 16, 16), (0, width, width))
        yield f"blurred by {width:g} pixels", blurred.reshape(len(X), -1)


def main():
    data = load("usps")
    X, y, test = np.asarray(data.X, np.float64), np.asarray(data.y), data.test_mask
    if sys.argv[1:] == ["nearest"]:
        for name, Z in preparations(X):
            nearest = nearest_neighbors(Z[~test], 1, query=Z[test]).indices[:, 0]
            print(f"{name}: {100 * np.mean(y[~test][nearest] != y[test]):.2f} %", flush=True)
    elif sys.argv[1:] == ["penalties"]:
        Z = ((X + 1) / 2).astype(np.float32)
        settings = {"n_dims": 20, "n_neighbors": 4, "mdl": 1000, "finer": None}
        atlas = fit_atlas(Z, {**settings, "max_features": None})
        code = encode(Z, atlas, 10, np.arange(len(Z)))
        seen, new = take_rows(code, ~test), take_rows(code, test)
        K, others = (
            atlas_kernel_rows(c, seen, 8**0.5, 128**0.5, "rbf", False) for c in (seen, new)
        )
        for C in (1, 10, 100, 1000):
            found = SVC(C=C, kernel="precomputed").fit(K, y[~test]).predict(others)
            print(f"C = {C}: {100 * np.mean(found != y[test]):.2f} %", flush=True)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
