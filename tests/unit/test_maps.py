"""Maps of the data for the report."""

import numpy as np
import pytest
from scipy import sparse

from fewfold.report.map_positions import map_rows


@pytest.mark.parametrize("d", [1, 2, 3, 6, 40])
@pytest.mark.parametrize("n", [1, 2, 5, 9, 30])
def test_any_size_has_a_map(n, d):
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    shown, positions = map_rows(X)
    assert shown.tolist() == list(range(n))
    assert positions.shape == (n, 2) and positions.dtype == np.float32
    assert np.isfinite(positions).all()


@pytest.mark.parametrize("d", [1, 2, 3, 5, 40])
def test_sparse_rows_have_a_map(d):
    X = sparse.random_array((25, d), density=0.5, rng=np.random.default_rng(0), format="csr")
    assert map_rows(sparse.csr_array(X))[1].shape == (25, 2)


@pytest.mark.parametrize("d", [2, 6])
def test_equal_rows(d):
    assert np.isfinite(map_rows(np.ones((20, d), np.float32))[1]).all()


def test_the_plane_is_shown_as_it_is():
    X = np.random.default_rng(0).normal(size=(10, 2)).astype(np.float32)
    np.testing.assert_array_equal(map_rows(X)[1], X)


def test_a_sample_is_sorted_distinct_and_repeatable():
    X = np.random.default_rng(0).normal(size=(500, 2))
    shown, positions = map_rows(X, n_shown=50, random_state=3)
    assert len(shown) == 50 == len(set(shown)) and (np.diff(shown) > 0).all()
    np.testing.assert_array_equal(shown, map_rows(X, n_shown=50, random_state=3)[0])
    assert not np.array_equal(shown, map_rows(X, n_shown=50, random_state=4)[0])
    np.testing.assert_allclose(positions, X[shown], rtol=1e-6)


def test_groups_stay_apart_and_seeds_repeat():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    X = (rng.normal(size=(60, 10)) + 20 * group[:, None]).astype(np.float32)
    _, positions = map_rows(X)
    centers = [positions[group == g].mean(0) for g in (0, 1)]
    spread = max(positions[group == g].std() for g in (0, 1))
    assert np.linalg.norm(centers[0] - centers[1]) > spread
    np.testing.assert_array_equal(positions, map_rows(X)[1])
