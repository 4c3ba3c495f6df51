"""Label embeddings stored as lists in a Parquet file, as vector databases export them.

The principal components of handwritten digits stand in for the output of an encoder.

    python docs/examples/embeddings.py embeddings.png
"""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import fewfold

pixels, truth = load_digits(return_X_y=True)
vectors = PCA(20, random_state=0).fit_transform(pixels)
names = np.array([f"digit {d}" for d in truth])
labeled = np.random.default_rng(0).choice(len(truth), 60, replace=False)
column = np.full(len(truth), "", object)
column[labeled] = names[labeled]

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "embeddings.parquet"
    pd.DataFrame({"vector": list(vectors.astype("float32")), "label": column}).to_parquet(file)
    answer = fewfold.label(file, target="label", cores=2, quick=True).table

error = (answer["label"].to_numpy() != names)[column == ""].mean()
print(f"error on the unlabeled rows: {error:.1%}")

plt.style.use("petroff10")  # ten colors that readers with color-vision deficiencies tell apart
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
for digit in range(10):
    rows = answer["label"] == f"digit {digit}"
    axes.scatter(*vectors[rows, :2].T, s=6, color=f"C{digit}", label=digit)
axes.scatter(*vectors[labeled, :2].T, s=30, facecolor="none", edgecolor="black", label="labeled")
axes.set(xlabel="first component", ylabel="second component", title=f"{error:.1%} error, 60 labels")
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), markerscale=1.5)
figure.savefig(sys.argv[1], dpi=100)
