"""An atlas of a noisy circle: the cost of a chart decides how many there are.

python docs/examples/atlas_circle.py atlas_circle.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from fewfold import Atlas

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 400)
X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.05, (400, 2))

plt.style.use("petroff10")  # ten colors that readers with color-vision deficiencies tell apart
figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for axes, cost in zip(panels, (0.05, 0.5, 8.0)):
    atlas = Atlas(n_dims=1, mdl=cost, finer=None, n_neighbors=6, random_state=0).fit(X)
    axes.scatter(*X.T, c=[f"C{chart % 10}" for chart in atlas.interior_], s=8)
    axes.set(title=f"cost {cost:g}: {atlas.n_charts_} charts", xlabel="$x_1$", ylabel="$x_2$")
    axes.set_aspect("equal")
figure.savefig(sys.argv[1], dpi=100)
