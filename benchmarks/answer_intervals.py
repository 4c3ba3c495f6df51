"""Coverage and width of the error interval, calibration, and false warnings, at 10 to 300 labels.

    python benchmarks/answer_intervals.py [--draws 8] [--first 0] [--csv FILE]

Each run combines candidates, estimates and calibrates by the functions of the command, with a few
fast candidates of its list (`FAST`; all of them would take four times as long). Rows already in the
store are not run again. Prints, by number of labels: runs, the share whose 95 % interval holds the
error of the unlabeled rows, its mean width, the mean of the estimate minus the error; ``warned``,
the share of runs with a warning that a given label may be wrong (none is); and calibration errors
in points:

- ``each run``: over ten equal bins of the rows of one run, mean over the runs. It contains how
  far the labels of one draw are off by chance: with 100 labels and 20 % error, the error itself is
  known only to within 4 points.
- ``floor``: what that measure would be if the confidences were right, by drawing which rows are
  right from the confidences themselves: a bin of 20 rows is off by 7 points by chance alone.
- ``debiased``: root of the mean over the bins of the squared gap, less its variance by chance
  (Kumar et al. 2019), over the runs of a number of labels.
- ``by set``: the same bins, rows of all draws of a set put together, mean over the sets. Whether
  rows that are said to be right with probability c are right that often.
- ``all``: rows of all sets and draws together, each set with the same weight.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import evidence as stored
import numpy as np
import pandas as pd

from fewfold.labeling.answering import answer
from fewfold.labeling.calibration import calibration_error
from fewfold.methods.members import named_members

SIZES = (10, 20, 50, 100, 300)
SETS = (
    "wine", "glass", "ecoli", "ionosphere", "pima-indians-diabetes", "german",
    "banknote-authentication", "ssl1_10", "ssl5_10", "ssl6_10", "breast_cancer", "made_2",
)  # fmt: skip
FAST = ("extra_trees", "logistic_1", "rbf_1_10", "clusters_2", "diffusion", "spreading")
N_KEPT = 400  # rows of a run whose confidence is kept
N_DRAWN = 40  # times that outcomes are drawn from the confidences
BINS = 10


def floor(sure, rng):
    """Return the calibration error to expect of confidences that are right."""
    drawn = rng.random((N_DRAWN, len(sure))) < sure
    return float(np.mean([calibration_error(sure, right) for right in drawn]))


def debiased_square(sure, right):
    """Return the mean squared gap over the bins, less what chance adds to it."""
    order = np.argsort(sure, kind="stable")
    found = 0.0
    for part in np.array_split(order, BINS):
        share, n = right[part].mean(), len(part)
        gap = sure[part].mean() - share
        found += n / len(sure) * (gap**2 - share * (1 - share) / max(n - 1, 1))
    return float(found)


def one_run(name, m, draw):
    """Return the figures of one draw of m labels, and confidences with whether they are right."""
    members = named_members("classification", FAST)
    members, said, task, classes, truth = stored.evidence(name, draw, m, members)
    _, arrays, notes = answer(members, said, task, classes)
    hidden = np.flatnonzero(task.y < 0)
    right = np.array(classes, dtype=object)[arrays["label"][hidden]] == truth[hidden]
    found = notes["comparison"]["estimate"] or {"value": np.nan, "low": 0.0, "high": 1.0}
    sure = arrays["confidence"][hidden]
    kept = np.random.default_rng(0).permutation(len(hidden))[:N_KEPT]
    row = {
        "set": name, "labels": m, "draw": draw, "error": 1 - right.mean(),
        "estimate": found["value"], "low": found["low"], "high": found["high"],
        "each run": 100 * calibration_error(sure, right),
        "floor": 100 * floor(sure, np.random.default_rng(draw)),
        "square": 1e4 * debiased_square(sure, right),
        "warned": 100 * any(w["kind"] == "suspected labels" for w in notes["warnings"]),
    }  # fmt: skip
    rows = pd.DataFrame({"set": name, "labels": m, "sure": sure[kept], "right": right[kept]})
    return row, rows


def summary(table, rows):
    """Return the figures by number of labels, and over all runs."""
    table = table.assign(
        covered=100 * ((table.error >= table.low - 1e-9) & (table.error <= table.high + 1e-9)),
        width=table.high - table.low,
        bias=table.estimate - table.error,
    )
    columns = ["covered", "width", "bias", "warned", "each run", "floor", "square"]
    found = table.groupby("labels")[columns].mean()
    found.loc["all"] = table[columns].mean()
    found["debiased"] = np.sqrt(found.pop("square").clip(lower=0))
    found.insert(0, "runs", [*table.groupby("labels").size(), len(table)])
    for labels, part in rows.groupby("labels"):
        gaps = [100 * calibration_error(s.sure, s.right) for _, s in part.groupby("set")]
        found.loc[labels, "by set"] = np.mean(gaps)
        size = part.groupby("set").size().min()
        equal = part.groupby("set").sample(size, random_state=0)
        found.loc[labels, "all"] = 100 * calibration_error(equal.sure, equal.right)
    return found.round(3)


def main():
    """Run what is not stored yet, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    table, rows = [], []
    for draw in range(asked.first, asked.first + asked.draws):
        for name in asked.sets:
            for m in SIZES:
                if 2 * m <= len(stored.problem(name).truth):
                    one, confidences = one_run(name, m, draw)
                    table.append(one)
                    rows.append(confidences)
        print(f"draw {draw}: {len(table)} runs", flush=True)
    table = pd.DataFrame(table)
    print(summary(table, pd.concat(rows)).to_string())
    if asked.csv:
        table.round(5).to_csv(asked.csv, index=False)


if __name__ == "__main__":
    main()
