"""Eight generated sets: their classes, or the value to predict.

python docs/examples/generated_sets.py generated_sets.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from fewfold.datasets import load

SETS = ["closed_curve", "circle", "figure_eight", "density_change"]
SETS += ["surface_helix", "dollar_sign", "surface_sphere", "martini"]
CLASSES = ListedColormap(["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"])

figure = plt.figure(figsize=(10, 5.2), layout="constrained")
for place, name in enumerate(SETS, 1):
    data = load(name, n_samples=1500, seed=0)
    is_number = np.issubdtype(data.y.dtype, np.floating)
    three = data.X.shape[1] == 3
    axes = figure.add_subplot(2, 4, place, projection="3d" if three else None)
    color = dict(cmap="cividis") if is_number else dict(cmap=CLASSES, vmin=0, vmax=4)
    axes.scatter(*data.X.T, c=data.y, s=3, **color)
    axes.set(title=name, xticks=[], yticks=[], **({"zticks": []} if three else {}))
    axes.set_aspect("equal")
    print(name, *data.X.shape, "a number" if is_number else f"{data.y.max() + 1} classes")
figure.savefig(sys.argv[1], dpi=90)
