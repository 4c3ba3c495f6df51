"""Draw the ten labeled digits and all mistakes of the headline run.

fewfold run --configfile config/headline.yaml --out headline
python benchmarks/headline_picture.py headline/results docs/images/headline.png
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from fewfold.pipeline.artifacts import read
from fewfold.pipeline.stage_files import read_features, read_labels, read_splits


def main(results, target, trial=0, budget=10):
    base = Path(results) / "mnist"
    data, truth = read_features(base / "features.h5"), read_labels(base / "labels.h5")
    labeled = read_splits(base / "splits.h5").order[trial, :budget]
    batch = sorted((base / "methods/invariant_diffusion").glob("trials_0_*.h5"))[0]
    predicted = read(batch, "train_method")[f"labels/{trial}/{budget}"]
    wrong = np.flatnonzero(truth.test_mask & (predicted != truth.y))
    labeled = labeled[np.argsort(truth.y[labeled])]
    columns = 20
    rows = -(-len(wrong) // columns)
    figure = plt.figure(figsize=(columns * 0.5, (rows + 2.6) * 0.62))
    grid = figure.add_gridspec(rows + 3, columns, hspace=0.55, wspace=0.05)
    n_test = int(truth.test_mask.sum())
    figure.suptitle(
        f"These ten labels (top) and the shape of 70 000 images: {len(wrong)} of {n_test} test "
        f"images wrong ({100 * len(wrong) / n_test:.2f} %), all shown: true > given",
        fontsize=9,
    )
    for place, row in enumerate(labeled):
        axes = figure.add_subplot(grid[0:2, 2 * place : 2 * place + 2])
        axes.imshow(data.X[row].reshape(28, 28), cmap="gray_r")
        axes.set_title(truth.classes[truth.y[row]], fontsize=8, pad=2)
        axes.axis("off")
    for place, row in enumerate(wrong):
        axes = figure.add_subplot(grid[3 + place // columns, place % columns])
        axes.imshow(data.X[row].reshape(28, 28), cmap="gray_r")
        axes.set_title(f"{truth.y[row]}>{predicted[row]}", fontsize=6, pad=1)
        axes.axis("off")
    figure.savefig(target, dpi=110, bbox_inches="tight")
    print(f"{len(wrong)} mistakes of {n_test}: {target}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
