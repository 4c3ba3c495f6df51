"""Pictures show the points, colors, edges and bounds of the partition they are given."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from fewfold.datasets.synthetic import generate
from fewfold.methods.multimanifold import figures
from fewfold.methods.multimanifold.decision import decision_sets
from fewfold.methods.multimanifold.partition import PartitionSettings, partition


@pytest.fixture(scope="module", params=["density_change", "surface_helix"])
def case(request):
    X = generate(request.param, n_samples=1500, seed=0).X
    settings = PartitionSettings(n_covers=1, n_parts=3, min_labeled=2)
    return X, partition(X, np.arange(1500) < 30, settings)


def test_partition_figure_colors_points_by_decision_set(case):
    X, found = case
    figure = figures.partition_figure(found, X)
    drawn = figure.axes[0].collections
    counts = np.bincount(decision_sets(found, X), minlength=3)
    assert [len(c.get_facecolor()) and len(c.get_offsets()) for c in drawn[:3]] == counts.tolist()
    colors = {tuple(c.get_facecolor()[0][:3].round(3)) for c in drawn[:3]}
    assert colors == {tuple(np.round(to_rgba(c)[:3], 3)) for c in figures.COLORS[:3]}
    assert len(drawn[3].get_offsets()) == 30
    figure.canvas.draw()


def test_graph_figure_draws_each_edge_once_with_its_weight(case):
    _, found = case
    figure = figures.graph_figure(found, n_edges=10**6)
    lines = figure.axes[0].collections[0]
    upper = found.W.tocoo()
    weights = upper.data[upper.row < upper.col]
    np.testing.assert_allclose(np.sort(lines.get_array()), np.sort(weights))
    few = figures.graph_figure(found, n_edges=7).axes[0].collections[0]
    np.testing.assert_allclose(np.sort(few.get_array()), np.sort(weights)[:7])
    figure.canvas.draw()


def test_sizes_figure_shows_sizes_and_bounds(case):
    _, found = case
    left, right = figures.sizes_figure(found).axes
    for axes, column, bound in ((left, 0, 2), (right, 1, found.bounds.min_unlabeled)):
        assert [bar.get_height() for bar in axes.patches] == found.sizes()[:, column].tolist()
        assert axes.lines[0].get_ydata()[0] == bound


def test_a_single_part_is_drawn_too():
    X = generate("martini", n_samples=300, seed=0).X
    found = partition(X, np.arange(300) < 3)
    assert found.bounds.n_parts == 1
    for figure in (
        figures.partition_figure(found, X),
        figures.graph_figure(found),
        figures.sizes_figure(found),
    ):
        figure.canvas.draw()
