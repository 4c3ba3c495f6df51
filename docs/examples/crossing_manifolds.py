"""Two manifolds that cross: a helix through a surface, 80 labels among 5000 points.

One SVM for all points confuses the two where they cross; one per part of the Hellinger partition
does not.

    python docs/examples/crossing_manifolds.py crossing_manifolds.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from fewfold import MultiManifoldClassifier
from fewfold.datasets import load

data = load("surface_helix", n_samples=5000, n_test=0, seed=0)
X, truth = data.X, data.y
labeled = np.random.default_rng(0).choice(len(X), 80, replace=False)
y = np.full(len(X), -1)
y[labeled] = truth[labeled]

answers = {
    "one SVM": SVC(C=10).fit(X[labeled], y[labeled]).predict(X),
    "one SVM per part": MultiManifoldClassifier(random_state=0).fit(X, y).transduction_,
}
figure = plt.figure(figsize=(9, 4), layout="constrained")
for place, (name, answer) in enumerate(answers.items(), 1):
    wrong = answer != truth
    axes = figure.add_subplot(1, 2, place, projection="3d")
    axes.scatter(*X[~wrong].T, s=1, color="#BBBBBB")
    axes.scatter(*X[wrong].T, s=4, color="#D55E00")
    axes.set(
        title=f"{name}: {wrong.mean():.1%} wrong", xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$"
    )
    print(f"{name}: {wrong.mean():.1%} wrong")
figure.savefig(sys.argv[1], dpi=100)
