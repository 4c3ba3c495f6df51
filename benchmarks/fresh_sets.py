"""Sets that took no part in any choice before: other columns of real tables, and made-up kinds.

A real set is a table of ``tables/`` in FEWFOLD_MIRROR (or of scikit-learn) whose target is another
column than the usual one: ``german:housing`` its categories, ``housing:medv/3`` three equal groups
of its values. A made-up set is named by what is hard about it and a seed: ``imbalance-1``. Two
tildes and a number give other than 10 % of the labels: ``moons-0~~10``.

`CHOOSE` are for choosing among settings, `CONFIRM` for saying how good the choice is.
"""

from __future__ import annotations

import zlib

import numpy as np
import pandas as pd

MOST_ROWS = 900
CHOOSE_REAL = (
    "german:housing", "german:personal", "adult-6000:relationship", "adult-6000:workclass",
    "auto-imports:drive", "auto-imports:body", "housing:medv/3", "housing:age/2",
    "winequality-white:alcohol/4", "glass:RI/3", "wine:color/3", "ecoli:alm1/4", "digits:class",
    "german:purpose~~60", "housing:rad~~30", "winequality-white:ph/3~~20",
)  # fmt: skip
CONFIRM_REAL = (
    "german:job", "german:property", "adult-6000:sex", "adult-6000:occupation",
    "auto-imports:fuel_system", "auto-imports:make~~60", "auto-imports:price/3", "housing:lstat/4",
    "pima-indians-diabetes:glucose/3", "winequality-white:density/3", "ionosphere:pulse_4/2",
    "banknote-authentication:entropy/4", "diabetes:answer/3", "wine:alcohol/2~~20",
    "breast_cancer:class~~20", "digits:class~~30",
)  # fmt: skip
KINDS = (
    "imbalance", "rare", "classes", "irrelevant", "categories", "heavy", "duplicates", "constants",
    "moons", "xor", "sparse", "missing", "rings", "hastie", "few~~10", "few~~20", "groups~~15",
)  # fmt: skip


def _made(seed):
    return tuple(
        f"{kind.split('~~')[0]}-{seed}" + ("~~" + kind.split("~~")[1] if "~~" in kind else "")
        for kind in KINDS
    )


CHOOSE, CONFIRM = (*CHOOSE_REAL, *_made(0)), (*CONFIRM_REAL, *_made(1))


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns and the classes of a set."""
    base = name.split("~~")[0]
    frame, truth = _real(base) if ":" in base else _made_up(base)
    rows = np.random.default_rng(zlib.crc32(base.encode())).permutation(len(truth))[:MOST_ROWS]
    frame, truth = frame.iloc[rows].reset_index(drop=True), np.asarray(truth, object)[rows]
    names, counts = np.unique(truth.astype(str), return_counts=True)
    kept = np.isin(truth.astype(str), names[counts >= 5])  # rarer classes may have no label
    return frame[kept].reset_index(drop=True), np.array([f"k{t}" for t in truth[kept]], object)


def _real(name):
    import evidence as stored

    base, column = name.split(":")
    column, _, groups = column.partition("/")
    if base in ("digits", "breast_cancer", "diabetes"):
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{base}")(return_X_y=True)
        # Columns in any order: a table, not an image.
        X = X[:, np.random.default_rng(0).permutation(X.shape[1])]
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        values = pd.Series(y)
    else:
        found = stored.problem(base)
        frame = found.frame.assign(**{found.target: found.truth})
        frame = frame[frame[column].notna()].reset_index(drop=True)
        values = frame.pop(column)
        twin = {"marital": "relationship", "relationship": "marital", "sex": "relationship"}
        frame = frame.drop(columns=[c for c in (twin.get(column),) if c in frame])
    if groups:
        values = pd.qcut(values.rank(method="first"), int(groups), labels=False)
    return frame, values.to_numpy()


def _made_up(name):
    kind, seed = name.split("-")
    rng = np.random.default_rng([zlib.crc32(kind.encode()), int(seed)])
    n = int(rng.integers(350, 600))
    X, y = globals()[f"_{kind}"](rng, n)
    if isinstance(X, pd.DataFrame):
        return X, y
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y


def _sample(rng, n, **settings):
    from sklearn.datasets import make_classification

    defaults = {"n_features": 10, "n_informative": 5, "n_redundant": 2, "n_classes": 2}
    return make_classification(
        n, random_state=int(rng.integers(10**6)), **{**defaults, "class_sep": 1.2, **settings}
    )


def _imbalance(rng, n):
    return _sample(rng, n, weights=[0.85, 0.15], flip_y=0.02)


def _rare(rng, n):
    return _sample(rng, n, n_classes=4, n_informative=6, weights=[0.7, 0.2, 0.06], flip_y=0.02)


def _classes(rng, n):
    """Fifteen clouds of unequal spread in 6 columns."""
    y = rng.integers(0, 15, n)
    centers, spread = rng.normal(0, 2.5, (15, 6)), rng.uniform(0.4, 1.5, 15)
    return centers[y] + rng.normal(size=(n, 6)) * spread[y, None], y


def _irrelevant(rng, n):
    X, y = _sample(rng, n, n_classes=3)
    return np.column_stack([X, rng.normal(size=(n, 80))]), y


def _categories(rng, n):
    """Twelve columns of categories; half of them shift the odds, and two act together."""
    levels = rng.integers(2, 9, 12)
    codes = np.column_stack([rng.integers(0, k, n) for k in levels])
    score = sum(rng.normal(0, 1, k)[codes[:, j]] for j, k in enumerate(levels[:6]))
    score = score + 1.5 * ((codes[:, 6] % 2) == (codes[:, 7] % 2)) + rng.logistic(0, 0.5, n)
    frame = pd.DataFrame(
        {f"c{j}": [f"v{v}" for v in codes[:, j]] for j in range(12)}
    ).assign(noise=rng.normal(size=n))  # fmt: skip
    return frame, np.digitize(score, np.quantile(score, [0.4, 0.75]))


def _heavy(rng, n):
    X, y = _sample(rng, n, n_classes=3, n_informative=6, class_sep=1.5)
    X = np.sinh(X) * 10 ** rng.uniform(-2, 3, X.shape[1])
    X[:, ::2] = np.exp(np.clip(X[:, ::2] / np.abs(X[:, ::2]).mean(axis=0), -8, 8))
    return X, y


def _duplicates(rng, n):
    X, y = _sample(rng, n // 3, n_classes=3, n_informative=5)
    rows = rng.integers(0, len(y), n)
    return X[rows].round(1), y[rows]


def _constants(rng, n):
    X, y = _sample(rng, n)
    nearly = np.zeros((n, 6))
    for j in range(6):
        nearly[rng.integers(0, n, 3), j] = rng.normal(0, 100, 3)
    return np.column_stack([X, np.full((n, 5), 7.0), nearly]), y


def _moons(rng, n):
    from sklearn.datasets import make_moons

    X, y = make_moons(n, noise=0.12, random_state=int(rng.integers(10**6)))
    return np.column_stack([X, 0.15 * rng.normal(size=(n, 4))]), y


def _rings(rng, n):
    y = rng.integers(0, 3, n)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + y + rng.normal(0, 0.15, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 0 * y + angle]), y


def _xor(rng, n):
    X = rng.uniform(-1, 1, (n, 6))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0.1) ^ (rng.random(n) < 0.05)).astype(int)


def _sparse(rng, n):
    X = rng.normal(size=(n, 40))
    return X, (X[:, :4] @ [2, -1.5, 1, 1] + rng.logistic(size=n) > 0).astype(int)


def _missing(rng, n):
    X, y = _sample(rng, n, n_classes=3, n_informative=6)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    frame["x0"] = frame["x0"].mask((y == 1) & (rng.random(n) < 0.5))  # missing says something
    return frame.assign(place=rng.choice(["north", "south", "east"], n)), y


def _hastie(rng, n):
    X = rng.normal(size=(n, 10))
    return X, ((X**2).sum(axis=1) > 9.34).astype(int)


def _few(rng, n):
    return _sample(rng, n, n_classes=3, n_informative=4, n_clusters_per_class=1, class_sep=1.5)


def _groups(rng, n):
    y = rng.integers(0, 5, n)
    return rng.normal(0, 2, (5, 8))[y] + rng.normal(size=(n, 8)), y
