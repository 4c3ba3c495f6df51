"""Mbed's pictures draw what they are given."""

from dataclasses import replace

import numpy as np
import pytest

from fewfold import MbedClassifier
from fewfold.methods.mbed.figures import (
    annealing_figure,
    criterion_figure,
    embedding_figure,
    picture_plane,
)


@pytest.fixture(scope="module", params=[2, 3, 4])
def model(request):
    K = request.param
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(K), 20)
    X = rng.normal(size=(len(codes), 6)) + 6 * np.eye(K, 6)[codes]
    y = np.full(len(codes), -1)
    y[::10] = codes[::10]
    fitted = MbedClassifier(n_steps=80, n_annealing=6, similarity="global", random_state=0)
    return fitted.fit(X, y), codes, np.flatnonzero(y >= 0)


def test_plane_is_orthonormal_and_shows_classes_apart(model):
    fitted, codes, _ = model
    plane = picture_plane(fitted.embedding_, fitted.directions_, codes)
    np.testing.assert_allclose(plane.T @ plane, np.eye(2), atol=1e-8)
    shown = fitted.embedding_ @ plane
    means = np.array([shown[codes == k].mean(axis=0) for k in np.unique(codes)])
    assert np.linalg.norm(means[0] - means[1]) > shown[codes == 0].std()


def test_embedding_figure_shows_all_points_and_emphasises_labels(model, tmp_path):
    fitted, codes, labeled = model
    figure = embedding_figure(
        fitted.embedding_, fitted.directions_, fitted.lambda_, classes=codes, labeled=labeled
    )
    scatters = [c for c in figure.axes[0].collections if hasattr(c, "get_sizes")]
    sizes = [(len(c.get_offsets()), c.get_sizes()) for c in scatters]
    assert sum(count for count, _ in sizes) == len(codes)
    assert sum(count for count, size in sizes if size[0] > 20) == len(labeled)
    figure.savefig(tmp_path / "embedding.png")
    assert (tmp_path / "embedding.png").stat().st_size > 1000


def test_annealing_figure_includes_the_kept_step(model, tmp_path):
    fitted, _, labeled = model
    figure = annealing_figure(fitted.path_, fitted.directions_, labeled=labeled, n_pictures=4)
    titles = [axes.get_title() for axes in figure.axes]
    assert sum("(kept)" in title for title in titles) == 1
    figure.savefig(tmp_path / "annealing.png")


def test_criterion_figure_marks_the_maximum(model):
    fitted, _, _ = model
    axes = criterion_figure(fitted.path_).axes[0]
    line, mark = axes.lines[:2]
    assert mark.get_ydata()[0] == max(line.get_ydata())
    assert len(line.get_ydata()) == len(fitted.path_.steps)


def test_an_outlying_criterion_is_drawn_on_a_logarithmic_axis(model):
    path = model[0].path_
    assert criterion_figure(path).axes[0].get_yscale() == "linear"
    first = replace(path.steps[0], criterion=1e4)
    outlying = replace(path, steps=[first, *path.steps[1:]], best=0)
    assert criterion_figure(outlying).axes[0].get_yscale() == "log"
