"""Are confidences honest? Stated confidence against the share of right labels.

python docs/examples/calibration.py calibration.png
"""

import sys
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

import fewfold

stated, right = [], []
for seed in range(3):
    X, y = make_classification(
        1000, 12, n_informative=5, n_classes=3, n_clusters_per_class=2, random_state=seed
    )
    names = np.array(["low", "middle", "high"])[y]
    known = np.zeros(len(y), bool)
    known[np.random.default_rng(seed).choice(len(y), 100, replace=False)] = True
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    with tempfile.TemporaryDirectory() as folder:
        frame["class"] = np.where(known, names, None)
        answer = fewfold.label(frame, target="class", out=f"{folder}/answer", cores=2).table
    stated.append(answer["confidence"].to_numpy()[~known])
    right.append((answer["label"].to_numpy() == names)[~known])
stated, right = np.concatenate(stated), np.concatenate(right)

edges = np.quantile(stated, np.linspace(0, 1, 9))
band = np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, 7)
middle = [stated[band == b].mean() for b in range(8)]
share = np.array([right[band == b].mean() for b in range(8)])
spread = 1.96 * np.sqrt(share * (1 - share) / np.bincount(band))
print(f"mean confidence {stated.mean():.3f}, share right {right.mean():.3f}")

figure, axes = plt.subplots(figsize=(4.8, 4.6), layout="constrained")
axes.plot([0.3, 1], [0.3, 1], color="#999999", linestyle="--", label="ideal")
axes.errorbar(middle, share, spread, marker="o", capsize=3, color="#0072B2", label="fewfold label")
axes.set(xlabel="stated confidence", ylabel="share of right labels (95 % interval)")
axes.legend(frameon=False)
figure.savefig(sys.argv[1], dpi=100)
