"""Mbed: the data move until every point lies on its class's side of fixed boundaries.

python docs/examples/mbed_annealing.py mbed_annealing.png
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

from fewfold import MbedClassifier
from fewfold.methods.mbed.figures import annealing_figure

X, truth = load_digits(n_class=3, return_X_y=True)
labeled = np.concatenate([np.flatnonzero(truth == c)[:4] for c in range(3)])
y = np.full(len(X), -1)
y[labeled] = truth[labeled]

model = MbedClassifier(random_state=0).fit(X / 16, y)
print(f"error on the unlabeled rows: {(model.transduction_ != truth)[y == -1].mean():.1%}")
figure = annealing_figure(model.path_, model.directions_, classes=truth, labeled=labeled)
figure.savefig(sys.argv[1], dpi=100)
