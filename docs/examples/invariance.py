"""A kernel that is invariant to rotation: its value while an image turns.

python docs/examples/invariance.py invariance.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fewfold import InvariantSVC
from fewfold.methods.invariance.figures import along, kernel_values
from fewfold.transforms import get_transform

X, y = load_digits(n_class=5, return_X_y=True)
X = X / 16
train = np.arange(40)
angles = np.arange(-180.0, 181.0, 5.0)
rotation = get_transform("rotation")

figure, axes = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
for strength, color in ((1, "#56B4E9"), (10, "#009E73"), (100, "#D55E00")):
    model = InvariantSVC(
        transform="rotation", image_shape=(8, 8), deformation=strength, gamma=0.1, C=10.0
    ).fit(X[train], y[train])
    turned = along(rotation, X[:1], (8, 8), list(angles))[:, 0]
    plain, deformed = kernel_values(model, turned, column=0)
    axes.plot(angles, deformed, color=color, label=f"deformed, strength {strength}")
axes.plot(angles, plain, color="black", linestyle="--", label="plain RBF")
axes.set(
    xlabel="rotation (degrees)",
    ylabel="kernel with the upright image",
    xticks=np.arange(-180, 181, 60),
    ylim=(0, None),
)
axes.legend(frameon=False, ncols=2)
figure.savefig(sys.argv[1], dpi=100)
