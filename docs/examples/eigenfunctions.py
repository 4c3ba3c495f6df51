"""Eigenfunctions of the graph Laplacian of a plane curve ([eigenbasis-2002], Figure 1).

The smooth functions on a closed curve are sines and cosines of the arc length. The smallest
eigenvectors of a neighbor graph of points on the curve come close to them.

    python docs/examples/eigenfunctions.py eigenfunctions.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from fewfold.datasets import load
from fewfold.graph.build import GraphSettings, build_graph
from fewfold.methods.eigenbasis.basis import compute_basis

X = load("closed_curve", n_samples=600, n_test=0, seed=0).X
graph = build_graph(X, GraphSettings(n_neighbors=8))
vectors = compute_basis(graph.W, 8)["eigenvectors"] * np.sqrt(len(X))

figure, panels = plt.subplots(2, 4, figsize=(10, 5), layout="constrained")
for number, axes in enumerate(panels.flat):
    points = axes.scatter(*X.T, c=vectors[:, number], s=5, cmap="coolwarm", vmin=-2, vmax=2)
    axes.set(title=f"eigenvector {number + 1}", xlabel="$x_1$", ylabel="$x_2$")
    axes.set_aspect("equal")
figure.colorbar(points, ax=panels, label="value", shrink=0.6)
figure.savefig(sys.argv[1], dpi=100)
