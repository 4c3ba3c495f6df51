"""What the papers report: values, statements, and why a cell was missed."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from fewfold.exceptions import ConfigError, InputError
from fewfold.system.location import project_root

KEYS = ("atlas", "eigenbasis", "mbed", "multimanifold", "invariance")
COLUMNS = (
    "paper where dataset method setting n_labels value spread unit source "
    "our_dataset our_method our_n_labels tuned_on_test note"
).split()
CLAIM_COLUMNS = (
    "paper where claim sharpest left_dataset left_method left_n relation factor plus "
    "right_dataset right_method right_n right_value unit source note"
).split()
REASON_COLUMNS = "paper where dataset method n_labels reason".split()
ROLE_COLUMNS = "paper our_method role".split()
# Of one of our methods: the paper's algorithm, fewfold's own defaults, or another method.
ROLES = ("published", "ours", "rival")


@dataclass(frozen=True)
class Unit:
    """How a published number reads: our metric, its factor, and whether more is better."""

    metric: str
    scale: float = 1.0
    higher_is_better: bool = False
    comparable: bool = True
    both_sides: bool = False  # a description: more is as far off as less


UNITS = {
    "%": Unit("error", 100.0),
    "fraction": Unit("error"),
    "% correct": Unit("accuracy", 100.0, higher_is_better=True),
    "mse": Unit("mse"),
    "% of pairs": Unit("pair_error", 100.0),
    "charts": Unit("charts", both_sides=True),
    "% purity": Unit("purity", 100.0, both_sides=True),
    "% impure": Unit("impure", 100.0, both_sides=True),
    # Other machines: shown beside, never counted. Ratios of times are claims.
    "s": Unit("seconds", comparable=False),
}


def data_folder(kind: str) -> Path:
    """Return ``data/published`` or ``data/measured`` of this checkout."""
    return project_root() / "data" / kind


def check_key(key: str) -> str:
    """Return the key if there is such a paper, else say which there are."""
    if key not in KEYS:
        raise ConfigError(
            f"reproduce {key}: there is no such part. Choose one of {', '.join(KEYS)} or all, or "
            "give none to see how long each takes."
        )
    return key


def read_published(path) -> pd.DataFrame:
    """Read the published values of one paper.

    Parameters
    ----------
    path : path-like
        CSV with the columns `COLUMNS`. Empty ``our_*``: a method fewfold does not run.

    Returns
    -------
    DataFrame
        All columns text, as written: the number of decimals tells how values were rounded.
    """
    return _read_text(path, COLUMNS)


def _read_text(path, columns):
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(table.columns) != list(columns):
        raise InputError(
            f"{path}: columns {', '.join(table.columns)}; expected {', '.join(columns)}."
        )
    return table


def read_claims(path) -> pd.DataFrame:
    """Read the statements of the papers that compare two of our cells.

    A row says: left (below | at most) factor * right + plus, where right is another of our
    cells or a published value.
    """
    return _read_text(path, CLAIM_COLUMNS)


def read_reasons(path) -> pd.DataFrame:
    """Read why cells were missed; ``*`` stands for anything in a field."""
    return _read_text(path, REASON_COLUMNS)


def find_reason(reasons: pd.DataFrame, **cell) -> str:
    """Return the first reason whose fields fit the cell, or an empty text.

    Examples
    --------
    >>> import pandas as pd
    >>> reasons = pd.DataFrame([["mbed", "*", "g1*", "*", "*", "no clusters"]],
    ...                        columns=REASON_COLUMNS)
    >>> find_reason(reasons, paper="mbed", where="Table 2", dataset="g10n", method="", n_labels="5")
    'no clusters'
    """
    for row in reasons.to_dict("records"):
        if all(fnmatchcase(str(cell[c]), row[c]) for c in REASON_COLUMNS[:-1]):
            return row["reason"]
    return ""


def read_roles(path) -> pd.DataFrame:
    """Read which of our methods are a paper's algorithm, and which are fewfold's own form of it.

    ``*`` stands for anything in a method's name; of several lines the first that fits counts.
    """
    return _read_text(path, ROLE_COLUMNS)


def role_of(roles: pd.DataFrame, paper: str, method: str) -> str:
    """Return the role of one of our methods; "rival" where no line names it.

    Examples
    --------
    >>> roles = pd.DataFrame([["mbed", "mbed*", "ours"]], columns=ROLE_COLUMNS)
    >>> role_of(roles, "mbed", "mbed"), role_of(roles, "mbed", "kmeans")
    ('ours', 'rival')
    """
    for row in roles.to_dict("records"):
        if row["paper"] == paper and fnmatchcase(method, row["our_method"]):
            return row["role"]
    return "rival"
