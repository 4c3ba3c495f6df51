"""Views of images: weights of held-out answers, exact leave-one-out, a wrong view noticed."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from fewfold.exceptions import InputError
from fewfold.graph.build import build_graph
from fewfold.methods.views import answers
from fewfold.methods.views.description import (
    describe,
    edge_features,
    graphs_of,
    is_turned,
    random_features,
)
from fewfold.methods.views.estimator import ImageViewsClassifier
from fewfold.transforms.framing import framed
from fewfold.transforms.rotated import rotated_images

X, DIGIT = load_digits(return_X_y=True)
X, DIGIT = X[:700] / 16, DIGIT[:700]


def few(per_class, seed=0):
    y = np.full(len(X), -1)
    rng = np.random.default_rng(seed)
    for c in range(10):
        y[rng.permutation(np.flatnonzero(DIGIT == c))[:per_class]] = c
    return y


@pytest.fixture(scope="module")
def shared():
    return ImageViewsClassifier((8, 8), n_random=400).prepare(X)


def error(model, y):
    return np.mean(model.transduction_[y < 0] != DIGIT[y < 0])


@pytest.mark.parametrize("m", [12, 60])
def test_left_out_scores_are_those_of_fits_without_the_label(m):
    """Both ways of solving: fewer labels than features, and more."""
    rng = np.random.default_rng(0)
    z, codes = rng.normal(size=(m, 20)), np.arange(m) % 3
    coef, left_out = answers.fit_labels(z, codes, 3, np.arange(m))
    Y = np.eye(3)[codes] - 1 / 3
    losses = []
    for penalty in (1e-6, 1e-5, 1e-4, 1e-3):
        shift = penalty * m * np.eye(20)
        expected = np.array([
            z[i] @ np.linalg.solve(
                np.delete(z, i, 0).T @ np.delete(z, i, 0) + shift,
                np.delete(z, i, 0).T @ np.delete(Y, i, 0),
            )
            for i in range(m)
        ])  # fmt: skip
        whole = np.linalg.solve(z.T @ z + shift, z.T @ Y)
        losses.append((np.mean((expected - Y) ** 2), expected, whole))
    _, expected, whole = min(losses, key=lambda found: found[0])
    np.testing.assert_allclose(left_out, expected, atol=1e-5)
    np.testing.assert_allclose(coef, whole, atol=1e-5)


def test_held_out_answers_do_not_see_their_label(shared):
    graphs = graphs_of(shared)
    rows = np.flatnonzero(few(2) >= 0)
    codes = DIGIT[rows]
    whole, before = answers.held_out_diffusions(graphs[0], rows, codes, 10)
    assert before.shape == (4, 20, 10)
    changed = codes.copy()
    changed[0] = (codes[0] + 1) % 10
    _, after = answers.held_out_diffusions(graphs[0], rows, changed, 10)
    np.testing.assert_allclose(after[:, 0], before[:, 0], atol=1e-3)
    assert np.abs(after[:, 1:] - before[:, 1:]).max() > 1e-2
    for one, other in zip(whole, answers.diffusions(graphs[0], rows, codes, 10), strict=True):
        np.testing.assert_allclose(one, other, atol=5e-3)


def test_weights_maximize_the_penalized_likelihood():
    rng = np.random.default_rng(1)
    likelihoods, prior = rng.uniform(0.05, 1, size=(3, 40)), np.array([0.6, 0.3, 0.1])
    found = answers.mixture_weights(likelihoods, prior, 3.0)

    def gain(w):
        return np.log(w @ likelihoods).sum() + 3.0 * prior @ np.log(w)

    best = gain(found)
    for _ in range(300):
        assert gain(np.maximum(rng.dirichlet(50 * found + 0.5), 1e-9)) <= best + 1e-6


def test_the_prior_counts_more_labels_where_there_are_more_classes():
    assert [answers.prior_strength(k) for k in (2, 10, 20)] == [1, 1.5, 3]


def test_random_features_approximate_the_gaussian_kernel():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(30, 5))
    z = random_features(points, np.sqrt(2 * 0.1) * rng.normal(size=(5, 20_000)))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(z @ z.T, np.exp(-0.1 * squared), atol=0.03)


def test_a_graph_that_joins_different_classes_is_noticed_without_held_out_labels(shared):
    """An invariance to everything: neighbors at random."""
    graphs = graphs_of(shared)
    rng = np.random.default_rng(3)
    noise = build_graph(rng.normal(size=(len(X), 3)), n_neighbors=6, symmetrize="mean").W
    rows = np.flatnonzero(few(1) >= 0)
    three = [graphs[0], graphs[1], noise]
    said = [answers.diffusions(W, rows, DIGIT[rows], 10) for W in three]
    assert answers.answer_shares(three, said).reshape(3, 4)[2].sum() < 0.1


def test_an_answer_that_cuts_its_graph_badly_has_less_weight():
    """A ring of 12 rows: in halves, in a part of 2 and its rest, in one class that takes all."""
    ring = sparse.csr_array(
        np.eye(12, k=1) + np.eye(12, k=-1) + np.eye(12, k=11) + np.eye(12, k=-11)
    )
    halves, parts, one = (np.eye(2)[[0] * size + [1] * (12 - size)] for size in (6, 2, 0))
    cuts = [answers.normalized_cut(ring, answer.argmax(1), 2) for answer in (halves, parts, one)]
    np.testing.assert_allclose(cuts, [1 / 6, (2 / 4 + 2 / 20) / 2, 1 / 2])
    shares = answers.answer_shares([ring, ring], [[halves, parts], [one]])
    np.testing.assert_allclose(shares, np.array(cuts) ** -8.0 / (np.array(cuts) ** -8.0).sum())
    np.testing.assert_allclose(answers.member_shares(shares, True)[3], 0.05)
    assert answers.member_shares(shares, False)[3] == 0


def test_a_wrong_view_is_switched_off_by_held_out_labels(shared):
    rng = np.random.default_rng(3)
    noise = build_graph(rng.normal(size=(len(X), 3)), n_neighbors=6, symmetrize="mean").W
    wrong = dict(shared)
    for part in ("data", "indices", "indptr"):
        wrong[f"graph_0_{part}"] = getattr(sparse.csr_array(noise), part)
    y = few(5)
    right = ImageViewsClassifier((8, 8), n_random=400).fit(X, y, shared=shared)
    model = ImageViewsClassifier((8, 8), n_random=400).fit(X, y, shared=wrong)
    assert model.weights_[:4].sum() < 0.2
    assert error(model, y) < error(right, y) + 0.03


def test_few_labels_many_labels_and_new_images(shared):
    errors = []
    for per_class in (1, 5, 20):
        y = few(per_class)
        model = ImageViewsClassifier((8, 8), n_random=400).fit(X, y, shared=shared)
        errors.append(error(model, y))
        # Without held-out labels nothing shows that their classifier is any good.
        assert (model.details_["labels"] > 0) == (per_class > 1)
    assert errors[0] < 0.15 and errors[2] <= errors[1] + 0.005 and errors[2] < 0.03
    new = load_digits().data[700:1000] / 16
    assert np.mean(model.predict(new) != load_digits().target[700:1000]) < 0.06


def test_more_labels_than_features_are_judged_on_a_sample(monkeypatch, shared):
    monkeypatch.setattr(answers, "MOST_JUDGED", 100)
    y = np.where(np.arange(len(X)) % 4 == 0, -1, DIGIT)
    model = ImageViewsClassifier((8, 8), n_random=400).fit(X, y, shared=shared)
    assert error(model, y) < 0.03


@pytest.mark.parametrize("shape", [(8, 8), (4, 16), (4, 4, 4), (64,), None])
def test_images_of_any_kind_series_and_rows(shape):
    found = describe(X[:80], shape, n_random=40)
    # Of several channels a third one, that knows their colors.
    assert len(graphs_of(found)) == (1 if shape is None else 3 if shape == (4, 4, 4) else 2)
    model = ImageViewsClassifier(shape, n_random=40).fit(
        X[:80], np.where(DIGIT < 5, DIGIT, -1)[:80]
    )
    again = ImageViewsClassifier.from_arrays(*model.to_arrays())
    np.testing.assert_allclose(again.predict_proba(X[80:90]), model.predict_proba(X[80:90]))


def test_a_state_whose_parts_do_not_fit_is_refused():
    model = ImageViewsClassifier((8, 8), n_random=40).fit(X[:80], DIGIT[:80])
    arrays, notes = model.to_arrays()
    with pytest.raises(InputError, match="do not fit together"):
        ImageViewsClassifier.from_arrays(arrays, notes | {"image_shape_": [8, 9]})
    with pytest.raises(InputError, match="does not fit image_shape"):
        ImageViewsClassifier.from_arrays(arrays, notes | {"image_shape_": [16, 4]})


def test_leverage_is_the_weight_of_a_rows_own_label(shared):
    """The fit without a row, done the long way, is what leverage makes of the fit of all."""
    z = random_features(shared["points"], shared["frequencies"]).astype(float)
    goal, n = np.eye(10)[DIGIT] - 0.1, len(z)
    shift = n * 1e-5 * np.eye(z.shape[1])
    scores = z @ np.linalg.solve(z.T @ z + shift, z.T @ goal)
    own = shared["leverage"]
    for row in (0, 5, 600):
        kept = np.arange(n) != row
        refitted = np.linalg.solve(z[kept].T @ z[kept] + shift, z[kept].T @ goal[kept])
        without = (scores[row] - own[row] * goal[row]) / (1 - own[row])
        np.testing.assert_allclose(without, z[row] @ refitted, atol=0.02)


def test_the_regression_is_heard_after_it_learned_from_both(monkeypatch, shared):
    seen, original = [], ImageViewsClassifier._fit_rows

    def spy(self, shared, answer):
        said = original(self, shared, answer)
        seen.append((answer.copy(), said.copy()))
        return said

    monkeypatch.setattr(ImageViewsClassifier, "_fit_rows", spy)
    y = few(3)
    model = ImageViewsClassifier((8, 8), n_random=400).fit(X, y, shared=shared)
    (views, first), (both, second) = seen
    free = y < 0
    np.testing.assert_allclose(both[free], (views + first)[free] / 2)
    np.testing.assert_allclose(model.label_distributions_[free], (views + second)[free] / 2)
    np.testing.assert_array_equal(model.label_distributions_[~free], np.eye(10)[y[~free]])


def test_images_at_any_angle_are_noticed_without_labels():
    turned = rotated_images(X, (8, 8), seed=3)
    assert not is_turned(X, (8, 8)) and is_turned(turned, (8, 8))
    assert not is_turned(X, None) and not is_turned(X[:50], (8, 8))
    y = few(10)
    model = ImageViewsClassifier((8, 8), n_random=400).fit(turned, y)
    assert model.turned_ and model.details_["turned_upright"]
    plain = describe(turned, None, n_random=400)  # pixels as they are
    assert error(model, y) < 0.6 * error(
        ImageViewsClassifier(n_random=400).fit(turned, y, shared=plain), y
    )
    again = ImageViewsClassifier.from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(again.predict(turned[:50]), model.predict(turned[:50]))
    assert np.mean(model.predict(rotated_images(X, (8, 8), seed=4)) == DIGIT) > 0.85


@pytest.mark.parametrize("by_color", [True, False])
def test_colors_tell_classes_apart_where_they_do_and_are_ignored_where_not(by_color):
    """Disks or crosses, red or blue: one of the two is the class, the other is chance."""
    rng = np.random.default_rng(0)
    n = 160
    crossed, hue = rng.integers(0, 2, n), rng.integers(0, 2, n)
    images = 0.5 + 0.02 * rng.normal(size=(n, 14, 14, 3))
    for i in range(n):
        down, across = (np.indices((14, 14)) - 6.5) - rng.uniform(-1, 1, (2, 1, 1))
        arms = np.minimum(np.abs(down), np.abs(across)) < 1.5
        inside = np.hypot(down, across) < rng.uniform(4, 5.5)
        images[i][inside & (arms | ~crossed[i].astype(bool))] += 0.4 * (np.arange(3) == 2 * hue[i])
    truth = hue if by_color else crossed
    given = np.full(n, -1)
    for c in range(2):
        given[np.flatnonzero(truth == c)[:8]] = c
    model = ImageViewsClassifier((14, 14, 3), random_state=0).fit(images.reshape(n, -1), given)
    assert np.mean(model.transduction_ != truth) < 0.05
    assert np.mean(model.predict(images.reshape(n, -1)) != truth) < 0.1
    names = {name.rsplit("_poisson", 1)[0] for name in model.details_ if name.endswith("poisson")}
    assert names == {"invariant", "edges", "edges_and_colors"}


def test_small_images_are_framed_and_new_ones_as_the_old_ones_were():
    images = np.kron(X.reshape(-1, 8, 8)[:300], np.ones((2, 2))).reshape(300, 256)
    given = np.where(np.arange(300) < 60, DIGIT[:300], -1)
    model = ImageViewsClassifier((16, 16), n_random=200)
    found = model.prepare(images)
    edges = edge_features(framed(images, (16, 16)), (28, 28))
    np.testing.assert_allclose((edges - found["mean"]) @ found["axes"], found["points"], atol=1e-5)
    model.fit(images, given, shared=found)
    assert np.mean(model.predict(images[60:]) != DIGIT[60:300]) < 0.05
    again = ImageViewsClassifier.from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(again.predict(images), model.predict(images))
