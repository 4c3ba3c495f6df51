"""Label a CSV file of your own: 178 wines, of which 30 have a label.

python docs/examples/own_csv.py own_csv.png
"""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import fewfold

with tempfile.TemporaryDirectory() as folder:
    wine = load_wine(as_frame=True)
    truth = np.array(["Aldo", "Bice", "Carlo"])[wine.target]
    known = np.zeros(len(truth), bool)
    known[np.random.default_rng(0).choice(len(truth), 30, replace=False)] = True
    table = Path(folder) / "wines.csv"
    wine.data.assign(grower=np.where(known, truth, "")).to_csv(table, index=False)

    answer = fewfold.label(table, target="grower", cores=2).table

rest = answer[~known]
wrong = (rest["label"] != truth[~known]).to_numpy()
print(f"{wrong.sum()} of {len(rest)} labels are wrong")

bins = np.linspace(0.3, 1, 15)
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.hist(
    [rest["confidence"][~wrong], rest["confidence"][wrong]],
    bins,
    stacked=True,
    color=["#0072B2", "#D55E00"],
    label=["right", "wrong"],
)
axes.set(xlabel="confidence", ylabel="rows", title="148 wines labeled from 30")
axes.legend(frameon=False, loc="upper left")
figure.savefig(sys.argv[1], dpi=100)
