"""Ways to combine the candidates of ``fewfold label``, on tables, the SSL book and other sets.

    python benchmarks/answer.py SET [SET ...] [--draws 4] [--first 0] [--csv FILE] [--members]
    python benchmarks/answer.py --tables        the 9 tables, beside five single learners
    python benchmarks/answer.py --book          the SSL-book sets, beside the published errors
    python benchmarks/answer.py --numbers       the 2 tables with numbers
    python benchmarks/answer.py --columns       27 columns of other sets, to be told from the rest
    python benchmarks/answer.py --others        sets of scikit-learn and made-up ones
    python benchmarks/answer.py --choose        half of the sets of fresh_sets.py, to choose on
    python benchmarks/answer.py --confirm       the other half

The sets, and where what candidates say is kept: see `evidence.py`. ``combined`` is what the
command answers; the other schemes change one thing. For each scheme: the mean error over the sets,
its lead over the best single learner, the share of draws within one point of the best of the five,
the largest gap, and by how many standard errors it is behind the most frequent class. ``chosen``
takes, for each set, the scheme that is best on all *other* sets of the list.
"""

from __future__ import annotations

import argparse
import warnings
from contextlib import contextmanager
from pathlib import Path

import evidence as stored
import fresh_sets
import numpy as np
import pandas as pd

from fewfold.labeling import first_weights, stacking
from fewfold.labeling.answering import answer

# What each scheme changes: attributes of modules.
SCHEMES = {
    "combined": {},
    "weights as 2 labels": {"stacking.FIRST_LABELS": 2.0},
    "first weights only": {"stacking.FIRST_LABELS": 1e5, "stacking.MOST_PULL": 1e5},
}
NUMBER_SCHEMES = {
    "combined": {},
    "trees 3": {"first_weights.EMPHASIS_NUMBERS": {"trees": 3.0}},
    "trees 10": {"first_weights.EMPHASIS_NUMBERS": {"trees": 10.0}},
    "weights as 2 labels": {"stacking.FIRST_LABELS": 2.0},
    "weights as 12 labels": {"stacking.FIRST_LABELS": 12.0},
}
# Chapelle, Schoelkopf, Zien 2006, Chapter 21, as in the notes on the papers: the best three.
PUBLISHED = {
    "ssl1_10": (5.4, 8.9, 9.8), "ssl1_100": (2.4, 2.6, 2.8), "ssl5_10": (22.8, 24.7, 28.9),
    "ssl5_100": (13.5, 17.4, 18.0), "ssl6_10": (54.5, 59.6, 61.9), "ssl6_100": (9.6, 10.0, 11.9),
}  # fmt: skip
SINGLE = ("forest", "extra", "boosting", "linear", "svm")
_MODULES = {"stacking": stacking, "first_weights": first_weights}


@contextmanager
def changed(scheme: dict):
    """Set attributes of modules for a while."""
    before = {}
    for name, value in scheme.items():
        module, attribute = name.split(".")
        before[name] = getattr(_MODULES[module], attribute)
        setattr(_MODULES[module], attribute, value)
    try:
        yield
    finally:
        for name, value in before.items():
            module, attribute = name.split(".")
            setattr(_MODULES[module], attribute, value)


def one_draw(name: str, draw: int, schemes: dict, *, with_members=False) -> dict:
    """Return the losses of schemes, single learners and candidates on one draw."""
    members, said, task, classes, _ = stored.evidence(name, draw)
    problem = stored.problem(name)
    hidden = np.setdiff1d(np.arange(len(problem.truth)), task.rows)
    row = {"set": name, "draw": draw, "rows": len(hidden)}
    for scheme, changes in schemes.items():
        with changed(changes):
            arrays = answer(members, said, task, classes)[1]
        label = arrays["label"][hidden]
        shown = label if classes is None else np.array(classes, dtype=object)[label]
        row[scheme] = stored.loss(problem, shown, hidden)
        if classes is None:
            truth = problem.truth[hidden]
            inside = (truth >= arrays["low"][hidden]) & (truth <= arrays["high"][hidden])
            row["inside 90 %"] = float(inside.mean())
    if with_members:
        for member, one in zip(members, said):
            if one.answer is not None:
                label = one.answer[hidden]
                if classes is not None:
                    label = np.array(classes, dtype=object)[label.argmax(axis=1)]
                row[f"* {member.name}"] = stored.loss(problem, label, hidden)
    if not name.startswith("ssl"):
        row |= stored.singles(name, draw)
    row["CPU s"] = sum(one.seconds for one in said)
    return row


def summary(table: pd.DataFrame, schemes) -> pd.DataFrame:
    """Return the figures of each scheme over all sets and draws."""
    by_set = table.groupby("set", sort=False)
    best = table[list(SINGLE)].min(axis=1)
    share = table["trivial"] / 100
    error = 100 * np.sqrt(share * (1 - share) / table["rows"])
    lines = {}
    for scheme in (*schemes, *SINGLE):
        mean = by_set[scheme].mean().mean()
        gap = table[scheme] - best
        lines[scheme] = {
            "mean": mean,
            "lead": min(by_set[single].mean().mean() for single in SINGLE) - mean,
            "within 1": 100 * (gap <= 1).mean(),
            "largest gap": gap.max(),
            "of": table["set"][gap.idxmax()],
            "behind trivial": ((table[scheme] - table["trivial"]) / error).max(),
        }
    return pd.DataFrame(lines).T


def chosen_elsewhere(table: pd.DataFrame, schemes) -> pd.Series:
    """Return the loss of each row by the scheme with the best mean rank on the other sets."""
    means = table.groupby("set", sort=False)[list(schemes)].mean()
    ranks = means.rank(axis=1)
    best = {name: ranks.drop(name).mean().idxmin() for name in means.index}
    print("chosen on the other sets:", best)
    return pd.Series([row[best[row["set"]]] for _, row in table.iterrows()], index=table.index)


def main():
    """Run the named sets and print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    for option in ("--tables", "--book", "--numbers", "--columns", "--others", "--members",
                   "--choose", "--confirm"):  # fmt: skip
        parser.add_argument(option, action="store_true")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [*asked.names, *(stored.TABLES if asked.tables else ())]
    names += [*(stored.BOOK if asked.book else ()), *(stored.NUMBERS if asked.numbers else ())]
    names += [*stored.OTHERS, *stored.MADE] if asked.others else []
    names += stored.COLUMNS if asked.columns else ()
    names += [*(fresh_sets.CHOOSE if asked.choose else ()),
              *(fresh_sets.CONFIRM if asked.confirm else ())]  # fmt: skip
    numbers = asked.numbers or asked.columns
    schemes, rows = NUMBER_SCHEMES if numbers else SCHEMES, []
    for name in names:
        draws = (
            range(12) if name.startswith("ssl") else range(asked.first, asked.first + asked.draws)
        )
        for draw in draws:
            rows.append(one_draw(name, draw, schemes, with_members=asked.members))
            print(
                name, draw, f"{rows[-1]['combined']:.2f}", f"{rows[-1]['CPU s']:.1f} s", flush=True
            )
    table = pd.DataFrame(rows)
    by_set = table.drop(columns="draw").groupby("set", sort=False).mean()
    by_set.loc["mean"] = by_set.mean()
    with pd.option_context("display.width", 250, "display.max_columns", 40):
        print(by_set.T.round(3 if numbers else 2).to_string())
        if not numbers and "trivial" in table and table["trivial"].notna().all():
            table["chosen"] = chosen_elsewhere(table, SCHEMES)
            print(summary(table, (*SCHEMES, "chosen")).to_string(float_format="{:.2f}".format))
    for name in by_set.index.intersection(list(PUBLISHED)):
        place = sum(by_set.loc[name, "combined"] > p for p in PUBLISHED[name]) + 1
        print(f"{name}: {by_set.loc[name, 'combined']:.2f}, published {PUBLISHED[name]}: {place}.")
    for scheme in schemes if numbers else ():
        ratio = table[scheme] / table[list(SINGLE)].min(axis=1)
        print(
            f"{scheme}, over the best single one: mean {ratio.mean():.3f}, geometric "
            f"{np.exp(np.log(ratio).mean()):.3f}, largest {ratio.max():.2f}"
        )
    if asked.csv:
        table.round(3).to_csv(asked.csv, index=False)


if __name__ == "__main__":
    main()
