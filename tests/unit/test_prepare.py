"""Checks, scaling and principal components against numpy and closed forms."""

import numpy as np
import pytest
from scipy import sparse

import fewfold.linalg.preparation as prepare
from fewfold.exceptions import DataWarning, InputError
from fewfold.linalg.preparation import (
    check_finite,
    count_oddities,
    fit_preparation,
    principal_axes,
    warn_oddities,
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6)) + 5


def test_scales_by_their_definition(table):
    standard = fit_preparation(table, scale="standard").transform(table)
    np.testing.assert_allclose(standard.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(standard.std(0), 1, rtol=1e-5)
    minmax = fit_preparation(table, scale="minmax").transform(table)
    np.testing.assert_allclose([minmax.min(0), minmax.max(0)], [[0] * 6, [1] * 6], atol=1e-6)
    unit = fit_preparation(table, scale="unit").transform(table)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(
        fit_preparation(table, scale="divide", divide_by=4).transform(table), table / 4, rtol=1e-6
    )
    np.testing.assert_allclose(fit_preparation(table).transform(table), table, rtol=1e-6)


def test_new_rows_are_scaled_by_the_old_ones(table):
    fitted = fit_preparation(table[:40], scale="standard")
    expected = (table[40:] - table[:40].mean(0)) / table[:40].std(0)
    np.testing.assert_allclose(fitted.transform(table[40:]), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_constant_columns_become_zero(scale):
    X = np.column_stack([np.full(5, 7.0), np.arange(5.0)])
    scaled = fit_preparation(X, scale=scale).transform(X)
    assert not scaled[:, 0].any() and np.isfinite(scaled).all()


def test_zero_rows_stay_zero_under_unit():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    expected = [[0, 0], [0.6, 0.8]]
    np.testing.assert_allclose(fit_preparation(X, scale="unit").transform(X), expected, rtol=1e-6)
    found = fit_preparation(sparse.csr_array(X), scale="unit").transform(sparse.csr_array(X))
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6)


@pytest.mark.parametrize("scale", ["none", "unit", "divide"])
def test_sparse_stays_sparse_and_equals_dense(table, scale):
    X = np.where(np.abs(table - 5) > 2, table, 0)
    dense = fit_preparation(X, scale=scale, divide_by=3.0)
    kept = fit_preparation(sparse.csr_array(X), scale=scale, divide_by=3.0)
    found = kept.transform(sparse.csr_array(X))
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), dense.transform(X), rtol=1e-5)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_sparse_that_would_become_dense_is_refused(scale):
    with pytest.raises(InputError, match=f"scale='{scale}' shifts.*none, unit or divide"):
        fit_preparation(sparse.csr_array(np.eye(3)), scale=scale)


@pytest.mark.parametrize("bad", [{"scale": "log"}, {"scale": "divide", "divide_by": 0}])
def test_bad_scales(table, bad):
    with pytest.raises(InputError):
        fit_preparation(table, **bad)


# --- principal components ------------------------------------------------------------------


def reference_axes(X):
    values, axes = np.linalg.eigh(np.cov(X.T, bias=True))
    return values[::-1], axes[:, ::-1]


@pytest.mark.parametrize("shape", [(50, 6), (8, 30)])
@pytest.mark.parametrize("kind", ["dense", "sparse", "lanczos"])
def test_axes_equal_the_eigenvectors_of_the_covariance(monkeypatch, shape, kind):
    X = np.random.default_rng(1).normal(size=shape) * np.linspace(3, 1, shape[1])
    if kind == "lanczos":
        monkeypatch.setattr(prepare, "_DIRECT_SIZE", 2)
    mean, axes, explained = principal_axes(sparse.csr_array(X) if kind == "sparse" else X, 3)
    values, expected = reference_axes(X)
    np.testing.assert_allclose(mean, X.mean(0))
    np.testing.assert_allclose(np.abs(axes.T @ expected[:, :3]), np.eye(3), atol=1e-5)
    assert explained == pytest.approx(values[:3].sum() / values.sum(), rel=1e-6)
    assert (axes[np.abs(axes).argmax(0), range(3)] > 0).all()  # signs are fixed


def test_projection_keeps_distances_when_all_components_are_kept(table):
    fitted = fit_preparation(table, pca=6)
    Z = fitted.transform(table)
    before = np.linalg.norm(table[:10] - table[10:20], axis=1)
    np.testing.assert_allclose(np.linalg.norm(Z[:10] - Z[10:20], axis=1), before, rtol=1e-4)
    np.testing.assert_allclose(Z.mean(0), 0, atol=1e-4)
    assert fitted.explained == pytest.approx(1)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.999])
def test_share_of_variance_takes_as_few_as_possible(table, share):
    values, _ = reference_axes(table)
    _, axes, explained = principal_axes(table, share)
    cumulated = np.cumsum(values) / values.sum()
    k = axes.shape[1]
    assert cumulated[k - 1] >= share - 1e-9 and (k == 1 or cumulated[k - 2] < share)
    assert explained >= share


@pytest.mark.parametrize("pca", [0, 7, 2.5, -1, 1.5, 10**9])
def test_impossible_numbers_of_components(table, pca):
    with pytest.raises(InputError, match=r"for 50 rows x 6 columns; allowed: 1 to 6"):
        principal_axes(table, pca)


def test_one_point_zero_keeps_one_component(table):
    assert principal_axes(table, 1.0)[1].shape == (6, 1)


def test_constant_data_have_components_all_the_same():
    X = np.ones((5, 3))
    _, axes, explained = principal_axes(X, 2)
    assert axes.shape == (3, 2) and np.isfinite(axes).all() and explained == 1.0
    _, axes, explained = principal_axes(X, 0.5)
    assert np.isfinite(axes).all() and explained == 1.0


# --- checks --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_first_bad_value_is_named(bad, kind):
    X = np.ones((4, 3))
    X[2, 1] = X[3, 0] = bad
    X = sparse.csr_array(X) if kind == "sparse" else X
    message = rf"2 values are NaN or infinite; the first is {bad} in row 2, column 1 \(width\)"
    with pytest.raises(InputError, match=message):
        check_finite(X, ["length", "width", "depth"])
    with pytest.raises(InputError, match="column 1, counted from 0"):
        check_finite(X)


def test_large_finite_values_and_whole_numbers_pass():
    check_finite(np.full((3, 3), 1e18))
    with pytest.raises(InputError, match=r"9 values are larger than 1e\+18; the first is 1e\+308"):
        check_finite(np.full((3, 3), 1e308))  # its square, and in single precision itself, is not
    check_finite(np.arange(6).reshape(2, 3))
    check_finite(np.zeros((0, 3)))
    check_finite(sparse.csr_array((3, 3)))


def test_oddities_are_counted():
    X = np.array([[1.0, 5, 1, 0], [2, 5, 2, 1], [1, 5, 1, 0], [1, 5, 1, 0]])
    expected = {"constant_columns": 1, "duplicate_columns": 1, "duplicate_rows": 2}
    assert count_oddities(X) == expected
    with pytest.warns(DataWarning, match="Of 4 rows x 4 columns: 1 constant columns"):
        warn_oddities(expected, X.shape)
    found = count_oddities(sparse.csr_array(np.array([[1.0, 0], [1, 0], [0, 0]])))
    assert found == {"constant_columns": 1, "duplicate_rows": 1}
    warn_oddities({"duplicate_rows": 0}, (3, 2))  # nothing to say, no warning
    assert not any(count_oddities(np.zeros((0, 0))).values())
