"""Error against the number of labels: diffusion, eigenbasis, and an SVM that sees labels only.

python docs/examples/error_against_labels.py error_against_labels.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from fewfold import DiffusionClassifier, EigenbasisClassifier

X, truth = load_digits(return_X_y=True)
X = X / 16
budgets, n_draws = (10, 20, 50, 100, 200), 5
methods = {
    "diffusion": lambda: DiffusionClassifier(image_shape=(8, 8)),
    "eigenbasis": lambda: EigenbasisClassifier(),
    "SVM (labels only)": lambda: SVC(C=10),
}


def unlabeled_error(make, budget, draw):
    """Return the error in % with a budget of labels, equally many per class."""
    order = np.random.default_rng(draw).permutation(len(X))
    first = [order[truth[order] == c][: budget // 10] for c in range(10)]
    labeled = np.concatenate(first)
    y = np.full(len(X), -1)
    y[labeled] = truth[labeled]
    model = make()
    if isinstance(model, SVC):
        answer = model.fit(X[labeled], y[labeled]).predict(X)
    else:
        answer = model.fit(X, y).transduction_
    return 100 * (answer != truth)[y == -1].mean()


figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
looks = (("#0072B2", "o", "-"), ("#D55E00", "s", "--"), ("#009E73", "^", ":"))
for (name, make), (color, marker, line) in zip(methods.items(), looks):
    errors = np.array([[unlabeled_error(make, b, d) for d in range(n_draws)] for b in budgets])
    spread = errors.std(1, ddof=1)
    axes.errorbar(
        budgets, errors.mean(1), spread, color=color, marker=marker, ls=line, capsize=3, label=name
    )
    print(name, errors.mean(1).round(1).tolist())
axes.set(xscale="log", yscale="log", xlabel="labels", ylabel="error on unlabeled rows (%)")
axes.minorticks_off()
axes.set_xticks(budgets, [str(b) for b in budgets])
axes.set_yticks(percents := (1, 2, 5, 10, 20, 40), [str(p) for p in percents])
axes.set_title("Digits: mean and standard deviation of 5 draws")
axes.legend(frameon=False)
figure.savefig(sys.argv[1], dpi=100)
