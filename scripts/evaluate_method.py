"""Stage evaluate_method: predictions to one row per draw and budget.

There is a job for every method and dataset: pandas would be most of it.
"""

import csv
import math

from fewfold.artifacts import atomic_path, read
from fewfold.cells import METRIC_COLUMNS, score
from fewfold.features import read_labels, read_splits
from fewfold.stages import stage_log


def main(labels, splits, batches, metrics, *, dataset, method):
    truth, draws = read_labels(labels), read_splits(splits)
    rows = []
    for batch in batches:
        with read(batch, "train_method") as file:
            for cell in file.note("cells"):
                name = f"{cell['trial']}/{cell['budget']}"
                new = file.get(f"labels_new/{name}")
                metric, value = score(
                    truth, draws, cell["trial"], cell["budget"], file[f"labels/{name}"], new
                )
                rows.append(
                    {
                        "dataset": dataset,
                        "method": method,
                        "n_labeled": cell["budget"],
                        "protocol": draws.protocol,
                        "metric": metric,
                        "value": "" if math.isnan(value) else float(value),
                        **{k: cell[k] for k in ("trial", "seed", "fit_s", "predict_s", "status")},
                    }
                )
    with atomic_path(metrics) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, METRIC_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(
            sm.input.labels,
            sm.input.splits,
            list(sm.input.batches),
            sm.output.metrics,
            **sm.params.settings,
        )
