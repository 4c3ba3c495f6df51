import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.transforms.deformation import DeformationMetric, gradients


def slow_distance(a, b, displacement, radius):
    """One direction, pixel by pixel, on features of shape (channels, h, w)."""
    _, h, w = a.shape

    def at(features, y, x):
        inside = 0 <= y < h and 0 <= x < w
        return features[:, y, x] if inside else np.zeros(len(features))

    total = 0.0
    for y in range(h):
        for x in range(w):
            costs = []
            for dy in range(-displacement, displacement + 1):
                for dx in range(-displacement, displacement + 1):
                    cost = 0.0
                    for v in range(y - radius, y + radius + 1):
                        for u in range(x - radius, x + radius + 1):
                            cost += np.sum((at(a, v, u) - at(b, v + dy, u + dx)) ** 2)
                    costs.append(cost)
            total += min(costs)
    return total / (2 * radius + 1) ** 2


def all_pairs(metric, A, B):
    candidates = np.broadcast_to(np.arange(len(B)), (len(A), len(B)))
    return metric.distances(metric.prepare(A), metric.prepare(B), candidates)


@pytest.mark.parametrize(
    ("shape", "displacement", "window", "margin"),
    [
        ((6, 5), 1, 3, 0),
        ((7, 9), 1, 3, 1),
        ((5, 6), 2, 3, 0),
        ((6, 6), 1, 1, 0),
        ((7, 6), 1, 5, 0),
        ((8, 9), 1, 7, 0),
        ((5, 5), 0, 3, 0),
        ((5, 6, 3), 1, 3, 0),
    ],
)
@pytest.mark.parametrize("features", ["gradient", "pixels", "both"])
def test_equals_a_slow_reference(shape, displacement, window, margin, features):
    rng = np.random.default_rng(0)
    X = rng.random((4, int(np.prod(shape))), dtype=np.float32)
    metric = DeformationMetric(shape, displacement, window, margin, features)
    images = X.reshape(4, *shape) if len(shape) == 3 else X.reshape(4, *shape, 1)
    plain = np.moveaxis(images, 3, 1)
    maps = {
        "gradient": gradients(images),
        "pixels": plain,
        "both": np.concatenate([gradients(images), plain], axis=1),
    }[features]
    maps = maps[:, :, margin : shape[0] - margin, margin : shape[1] - margin]
    expected = np.array(
        [
            [
                slow_distance(a, b, displacement, window // 2)
                + slow_distance(b, a, displacement, window // 2)
                for b in maps[2:]
            ]
            for a in maps[:2]
        ]
    )
    np.testing.assert_allclose(all_pairs(metric, X[:2], X[2:]), expected / 2, rtol=2e-5)


@pytest.mark.parametrize("window", [1, 3])
def test_series_equal_a_slow_reference(window):
    rng = np.random.default_rng(1)
    X = rng.random((3, 12), dtype=np.float32)
    metric = DeformationMetric((12,), 2, window)
    maps = gradients(X)
    r = window // 2
    got = all_pairs(metric, X, X)
    for i in range(3):
        for j in range(3):
            sums = []
            for a, b in ((maps[i, 0], maps[j, 0]), (maps[j, 0], maps[i, 0])):
                padded_a, padded_b = np.pad(a, r), np.pad(b, r + 2)
                costs = [
                    [
                        np.sum((padded_a[t : t + window] - padded_b[t + s : t + s + window]) ** 2)
                        for s in range(5)
                    ]
                    for t in range(12)
                ]
                sums.append(np.min(costs, axis=1).sum() / window)
            assert got[i, j] == pytest.approx(np.mean(sums), rel=1e-4, abs=1e-6)


@pytest.fixture
def pictures():
    """Smooth blobs in the middle of a frame: nothing of interest within 4 pixels of the edge."""
    rng = np.random.default_rng(2)
    images = np.zeros((6, 20, 20), np.float32)
    images[:, 5:15, 5:15] = rng.random((6, 10, 10))
    return images


def test_zero_on_itself_symmetric_and_below_euclidean(pictures):
    X = pictures.reshape(6, -1)
    metric = DeformationMetric((20, 20), margin=0)
    D = all_pairs(metric, X, X)
    assert np.all(np.diag(D) == 0) and np.all(D[~np.eye(6, dtype=bool)] > 0)
    np.testing.assert_allclose(D, D.T, rtol=1e-5)
    maps = gradients(pictures[..., None]).reshape(6, -1)
    euclidean = ((maps[:, None] - maps[None]) ** 2).sum(axis=2)
    assert np.all(D <= euclidean * (1 + 1e-5) + 1e-6)
    plain = all_pairs(DeformationMetric((20, 20), 0, 1, 0), X, X)
    np.testing.assert_allclose(plain, euclidean, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shift", [(0, 1), (1, 0), (-1, 1), (1, 1), (-1, -1)])
def test_blind_to_a_shift_of_the_interior_by_one_pixel(pictures, shift):
    metric = DeformationMetric((20, 20))
    moved = np.roll(pictures, shift, axis=(1, 2)).reshape(6, -1)
    still = pictures.reshape(6, -1)
    D = all_pairs(metric, still, moved)
    np.testing.assert_allclose(np.diag(D), 0, atol=1e-6)
    # Two pixels are one too many for displacement 1, not for displacement 2.
    far = np.roll(pictures, (2, 0), axis=(1, 2)).reshape(6, -1)
    assert np.all(np.diag(all_pairs(metric, still, far)) > 0.01)
    wider = DeformationMetric((20, 20), displacement=2)
    np.testing.assert_allclose(np.diag(all_pairs(wider, still, far)), 0, atol=1e-6)


def test_larger_displacements_never_raise_the_distance(pictures):
    X = pictures.reshape(6, -1)
    D = [all_pairs(DeformationMetric((20, 20), d), X, X) for d in (0, 1, 2)]
    assert np.all(D[1] <= D[0] + 1e-5) and np.all(D[2] <= D[1] + 1e-5)


def test_constant_brightness_does_not_matter_to_gradients(pictures):
    X = pictures.reshape(6, -1)
    metric = DeformationMetric((20, 20))
    np.testing.assert_allclose(all_pairs(metric, X + 3, X), all_pairs(metric, X, X), atol=1e-4)


def test_margin_adapts_to_the_size():
    sizes = {(28, 28): 2, (16, 16): 1, (8, 8): 0, (32, 32, 3): 2, (100,): 0}
    assert {shape: DeformationMetric(shape).margin for shape in sizes} == sizes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"displacement": -1}, "whole pixels"),
        ({"displacement": 0.5}, "whole pixels"),
        ({"window": 2}, "odd"),
        ({"features": "edges"}, "Choose one of"),
        ({"margin": 4}, "Lower"),
        ({"displacement": 8}, "Lower"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        DeformationMetric((8, 8), **options)
