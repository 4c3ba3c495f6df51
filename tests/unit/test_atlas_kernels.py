"""Kernels and features of the atlas against their double sums."""

import numpy as np
import pytest
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.atlas import encoding
from fewfold.methods.atlas.arrays import charts_of
from fewfold.methods.atlas.charts import Charts, cheapest, fit_chart, reconstruction_errors
from fewfold.methods.atlas.encoding import encode, take_rows
from fewfold.methods.atlas.features import KERNEL_OF, atlas_features, local_features
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.atlas.kernels import KINDS, atlas_kernel_rows, kernel_diagonal, kernel_scales
from fewfold.methods.atlas.settings import AtlasSettings


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 150)
    X = np.column_stack([np.cos(t), np.sin(t), np.sin(2 * t), rng.normal(0, 0.1, 150)])
    atlas = fit_atlas(X, AtlasSettings(n_dims=2, mdl=0.1))
    return X, atlas, encode(X, atlas, q=4, rows=np.arange(150))


def dense_kernel(X, atlas, q, gamma, sigma, kind, assignment, normalize):
    """Sum over all charts, written out from the definitions."""
    charts = charts_of(atlas)
    belongs = set(zip(atlas["member_rows"].tolist(), atlas["member_charts"].tolist()))
    n, K = len(X), 0
    errors = np.empty((n, len(charts)))
    projections = []
    for i in range(len(charts)):
        mean, C = charts.means[i] + atlas["origin"], charts.directions[i]
        P = (X - mean) @ C.T
        errors[:, i] = ((X - mean - P @ C) ** 2).sum(axis=1)
        projections.append(P)
    rank = errors.argsort(axis=1).argsort(axis=1)
    for i, P in enumerate(projections):
        if assignment == "soft":
            w = np.where(rank[:, i] < q, np.exp(-errors[:, i] / gamma**2), 0)
        else:
            w = np.array([float((p, i) in belongs and rank[p, i] < q) for p in range(n)])
        P = P / sigma
        if kind == "rbf":
            local = np.exp(-((P[:, None] - P) ** 2).sum(axis=2))
        elif kind == "linear":
            local = P @ P.T
        else:
            features = local_features(P, {v: k for k, v in KERNEL_OF.items()}[kind])
            local = features @ features.T
        K = K + np.outer(w, w) * local
    if normalize:
        own = np.sqrt(K.diagonal())
        K = K / np.outer(own, own)
    return K


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("normalize", [True, False])
def test_kernel_equals_the_dense_double_sum(fitted, kind, assignment, normalize):
    X, atlas, code = fitted
    K = atlas_kernel_rows(code, code, 0.5, 0.8, kind, normalize, assignment)
    expected = dense_kernel(X, atlas, 4, 0.5, 0.8, kind, assignment, normalize)
    assert np.allclose(K, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    assert np.linalg.eigvalsh(K.astype(float)).min() > -1e-4 * np.abs(K).max()
    if normalize:
        assert np.allclose(K.diagonal(), 1, atol=1e-5)
    else:
        diagonal = kernel_diagonal(code, 0.5, 0.8, kind, assignment)
        assert np.allclose(K.diagonal(), diagonal, rtol=1e-4, atol=1e-6)


def test_tiles_are_slices_of_the_kernel(fitted):
    _, _, code = fitted
    K = atlas_kernel_rows(code, code, 0.5, 0.8)
    rows = np.array([7, 3, 100])
    assert np.allclose(atlas_kernel_rows(take_rows(code, rows), code, 0.5, 0.8), K[rows], atol=1e-6)


def test_points_far_from_every_chart_keep_their_similarity(fitted):
    _, _, code = fitted
    far = dict(code, errors=code["errors"] + 1000)
    plain = atlas_kernel_rows(far, far, 0.5, 0.8, normalize=False)
    assert np.all(plain == 0)
    assert np.allclose(atlas_kernel_rows(far, far, 0.5, 0.8).diagonal(), 1, atol=1e-5)


@pytest.mark.parametrize("kind", KERNEL_OF)
@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("normalize", [True, False])
def test_inner_products_of_features_are_the_kernel(fitted, kind, assignment, normalize):
    _, atlas, code = fitted
    F = atlas_features(code, len(atlas["means"]), 0.5, 0.8, kind, normalize, assignment)
    K = atlas_kernel_rows(code, code, 0.5, 0.8, KERNEL_OF[kind], normalize, assignment)
    assert sparse.issparse(F) and F.has_sorted_indices
    inner = (F @ F.T).toarray()
    assert np.allclose(inner, K, rtol=1e-4, atol=1e-5 * np.abs(K).max())


def test_encoding_holds_the_cheapest_charts(fitted):
    X, atlas, code = fitted
    charts = charts_of(atlas)
    errors = reconstruction_errors(X - atlas["origin"], charts)
    assert np.array_equal(code["charts"], cheapest(errors, 4))
    assert np.all(np.diff(code["errors"], axis=1) >= 0)
    p, i = 17, int(code["charts"][17, 1])
    mean, C = charts.means[i] + atlas["origin"], charts.directions[i]
    assert np.allclose(code["projections"][p, 1], (X[p] - mean) @ C.T, atol=1e-5)
    residual = X[p] - mean - (X[p] - mean) @ C.T @ C
    assert code["errors"][p, 1] == pytest.approx(residual @ residual, abs=1e-5)


def test_blocks_and_sparse_rows_encode_alike(fitted, monkeypatch):
    X, atlas, code = fitted
    monkeypatch.setattr(encoding, "_BLOCK_ROWS", 64)
    joined = encode(X, atlas, 4, np.arange(150))
    for name in code:
        assert np.allclose(joined[name], code[name], atol=1e-6)
    again = encode(sparse.csr_array(X), atlas, q=4, rows=np.arange(150))
    assert np.allclose(again["errors"], code["errors"], atol=1e-6)


def test_members_of_old_and_new_points(fitted):
    X, atlas, code = fitted
    assert np.all(
        code["member"][np.arange(150), (code["charts"] == atlas["interior"][:, None]).argmax(1)]
    )
    new = encode(X[:9], atlas, q=4)
    assert new["member"].sum() == 9 and new["member"][:, 0].all()


def test_scales_follow_the_data(fitted):
    _, atlas, code = fitted
    gamma, sigma = kernel_scales(code)
    tripled = dict(code, errors=9 * code["errors"], projections=3 * code["projections"])
    assert kernel_scales(tripled) == pytest.approx((3 * gamma, 3 * sigma), rel=1e-5)
    flat = dict(code, errors=0 * code["errors"], projections=0 * code["projections"])
    assert min(kernel_scales(flat)) > 0


@pytest.mark.parametrize(
    "change", [{"gamma": 0}, {"sigma": np.nan}, {"kind": "cubic"}, {"assignment": "firm"}]
)
def test_bad_options_are_refused(fitted, change):
    _, _, code = fitted
    with pytest.raises(InputError):
        atlas_kernel_rows(code, code, **{"gamma": 1.0, "sigma": 1.0} | change)


def test_chart_is_the_best_affine_fit():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(20, 5)) @ np.diag([5, 3, 1, 0.5, 0.1])
    for n in (20, 4):  # covariance and Gram matrix
        mean, C = fit_chart(points[:n], 2)
        values = np.linalg.svd(points[:n] - points[:n].mean(axis=0), compute_uv=False)
        one = Charts(mean[None], C[None], np.array([2]))
        assert reconstruction_errors(points[:n], one).sum() == pytest.approx(
            (values[2:] ** 2).sum()
        )
        assert np.allclose(C @ C.T, np.eye(2), atol=1e-9)


def test_charts_of_few_points_have_fewer_dimensions():
    points = np.array([[0.0, 0, 0], [1, 1, 0]])
    mean, C = fit_chart(points, 3)
    assert C.shape == (1, 3)
    assert fit_chart(np.ones((4, 3)), 2)[1].shape == (0, 3)
    assert fit_chart(np.ones((1, 3)), 2)[1].shape == (0, 3)
