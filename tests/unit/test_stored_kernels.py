"""SVMs on stored kernels answer as those that compute theirs."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fewfold.methods.atlas.encoding import encode
from fewfold.methods.atlas.estimator import AtlasSVC
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.atlas.kernel_stage import AtlasKernel
from fewfold.methods.base import ManifoldModel
from fewfold.methods.invariance.copies_kernel import InvariantKernel
from fewfold.methods.invariance.estimator import InvariantSVC
from fewfold.pipeline.kernel_files import KernelMatrix, join_tiles, level_rows, write_tile
from fewfold.pipeline.stage_files import Features, Splits

SHIFTS = {"name": "translation", "reach": 1}


@pytest.fixture(scope="module")
def digits():
    X, codes = load_digits(return_X_y=True)
    X = X[:400] / 16
    order = np.stack([np.random.default_rng(seed).permutation(360)[:40] for seed in (0, 1)])
    splits = Splits(order, [20, 40], "unlabeled", "inductive", 0)
    return Features(X[:360], X[360:], None, None, (8, 8), None), codes[:400], splits


def stored(source, splits, folder, n_tiles=2):
    rows = level_rows(source, splits)
    tiles = [folder / "k" / f"tile_{i}.h5" for i in range(n_tiles)]
    tiles[0].parent.mkdir()
    for tile, part in zip(tiles, np.array_split(rows, n_tiles)):
        write_tile(tile, source, part, settings={})
    join_tiles(folder / "k.h5", tiles, settings={})
    return KernelMatrix(folder / "k.h5")


def draws(splits, codes):
    for trial, budget, seed in splits.draws():
        y = np.full(360, -1)
        rows = splits.order[trial, :budget]
        y[rows] = codes[rows]
        yield y, seed


def test_the_atlas_has_a_matrix_for_each_number_of_labels(digits, tmp_path):
    features, codes, splits = digits
    atlas = fit_atlas(features.X, {"n_dims": 3})
    points, new = encode(features.X, atlas, rows=range(360)), encode(features.X_new, atlas)
    manifold = ManifoldModel(atlas, points=points, points_new=new)
    stages = {"manifold": manifold, "points": points, "points_new": new, "splits": splits}
    source = AtlasKernel(features, stages, {"type": "atlas", "sigma": "budget"})
    assert [level["n_labeled"] for level in source.levels] == [20, 40]
    kernel = stored(source, splits, tmp_path)
    for y, seed in draws(splits, codes):
        plain, read = (AtlasSVC(random_state=seed) for _ in range(2))
        plain.fit(features.X, y, manifold=manifold)
        read.fit(features.X, y, manifold=manifold, kernel=kernel)
        assert read.stored_shares_ is not None and read.options_ == plain.options_
        ours, theirs = (m.label_distributions_ for m in (read, plain))
        np.testing.assert_allclose(ours, theirs, atol=2e-3)
        ours = read.predict_proba(features.X_new, kernel=kernel)
        np.testing.assert_allclose(ours, plain.predict_proba(features.X_new), atol=2e-3)
        other = AtlasSVC(sigma=9.0).fit(features.X, y, manifold=manifold, kernel=kernel)
        assert other.stored_shares_ is None  # another width: blocks from the encoding


@pytest.mark.parametrize("cv", [None, 3])
def test_the_kernels_of_a_draws_copies_are_stored_for_the_whole_grid(digits, tmp_path, cv):
    features, codes, splits = digits
    source = InvariantKernel(features, {"splits": splits}, {"type": "invariant",
                                                            "transform": SHIFTS})  # fmt: skip
    assert len(source.levels) == 4 * 9
    kernel = stored(source, splits, tmp_path)
    for y, seed in draws(splits, codes):
        options = {"transform": SHIFTS, "image_shape": (8, 8), "random_state": seed, "cv": cv}
        plain, read = (InvariantSVC(**options) for _ in range(2))
        plain.fit(features.X, y)
        read.fit(features.X, y, kernel=kernel)
        assert (read.choice_.gamma, read.choice_.deformation) == (
            plain.choice_.gamma, plain.choice_.deformation)  # fmt: skip
        ours, theirs = (m.label_distributions_ for m in (read, plain))
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
        ours = read.predict_proba(features.X_new, kernel=kernel)
        np.testing.assert_allclose(ours, plain.predict_proba(features.X_new), atol=1e-3)
        again = InvariantSVC.from_arrays(*read.to_arrays())
        np.testing.assert_allclose(again.predict_proba(features.X_new), ours, atol=1e-3)
        other = InvariantSVC(**options, deformation=7.0).fit(features.X, y, kernel=kernel)
        assert not hasattr(other, "_stored")  # another strength is computed
