"""The table of labels.csv."""

from __future__ import annotations

import numpy as np
import pandas as pd


def labels_table(answer: dict, classes, ids, id_name, abstain=None) -> pd.DataFrame:
    """Return the table that becomes labels.csv, in input order.

    Parameters
    ----------
    answer : dict of arrays
        ``label``, ``confidence``, ``given``; ``second`` for classes, ``low`` and ``high`` for
        numbers.
    abstain : float, optional
        Labels with a lower confidence are left empty.
    """
    n = len(answer["label"])
    names = ids if ids is not None else np.arange(1, n + 1)
    table = pd.DataFrame({id_name: names})
    given = answer["given"].astype(bool)
    if classes is None:
        table["label"] = answer["label"]
        table["confidence"] = np.where(given, 1.0, np.nan)
        table["was_labeled"] = given
        table["second_label"] = ""
        for name in ("low", "high"):  # empty where the labels are too few for a range
            table[name] = np.where(np.isfinite(answer[name]), answer[name], np.nan)
        return table
    words = np.array([*classes, ""], dtype=object)
    label = answer["label"].copy()
    if abstain is not None:
        label[~given & ~(answer["confidence"] >= abstain)] = -1
    table["label"] = words[label]
    table["confidence"] = np.round(answer["confidence"], 4)
    table["was_labeled"] = given
    table["second_label"] = words[answer["second"]]
    return table
