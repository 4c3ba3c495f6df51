"""Description of an atlas: sizes, purity, overlap, images of charts; and plane examples."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError


def describe_charts(
    atlas: dict[str, np.ndarray], y: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Count what lies in each chart ([atlas-2014] "Chart Characterisation").

    Parameters
    ----------
    atlas : dict of ndarrays
        As returned by `fewfold.methods.atlas.fitting.fit_atlas`.
    y : int ndarray of shape (n,), optional
        Class codes; -1 = not known, left out of the counts.

    Returns
    -------
    dict of ndarrays
        ``size`` and ``members`` (m,): interior points and all members of each chart; ``dims``
        (m,); ``overlap``: share of points in several charts. With ``y`` also ``main_class``
        (m,), -1 for charts without labels, and ``purity`` (m,): share of the labeled interior
        points in the chart's main class, NaN without any; ``impure``: share of all labeled
        points that are not of their chart's main class.

    Examples
    --------
    >>> from fewfold.methods.atlas.fitting import fit_atlas
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> int(describe_charts(fit_atlas(X, {"n_dims": 1}))["size"].sum())
    60
    """
    interior = np.asarray(atlas["interior"])
    m = len(atlas["means"])
    belongs = np.bincount(atlas["member_rows"], minlength=len(interior))
    about = {
        "size": np.bincount(interior, minlength=m),
        "members": np.bincount(atlas["member_charts"], minlength=m),
        "dims": np.asarray(atlas["dims"]),
        "overlap": np.float64(np.mean(belongs > 1)),
    }
    if y is None:
        return about
    y = np.asarray(y)
    if len(y) != len(interior):
        raise InputError(
            f"y has {len(y)} entries, the atlas {len(interior)} points. Give one each."
        )
    known = np.flatnonzero(y >= 0)
    counts = np.zeros((m, int(y.max(initial=0)) + 1))
    np.add.at(counts, (interior[known], y[known]), 1)
    total, most = counts.sum(axis=1), counts.max(axis=1)
    about["main_class"] = np.where(total > 0, counts.argmax(axis=1), -1)
    about["purity"] = np.divide(most, total, out=np.full(m, np.nan), where=total > 0)
    about["impure"] = np.float64(1 - most.sum() / max(total.sum(), 1))
    return about


def chart_images(atlas: dict[str, np.ndarray], charts, n_directions: int = 4) -> np.ndarray:
    """Return the mean and the first directions of some charts in the space of the features.

    Parameters
    ----------
    atlas : dict of ndarrays
    charts : int array of shape (n_shown,)
    n_directions : int
        Directions shown; those a chart does not have are zero.

    Returns
    -------
    ndarray of shape (n_shown, 1 + n_directions, n_features)
    """
    charts = np.asarray(charts)
    means, directions = atlas["means"][charts], atlas["directions"][charts]
    shown = np.zeros((len(charts), 1 + n_directions, means.shape[1]))
    shown[:, 0] = means
    some = min(n_directions, directions.shape[1])
    shown[:, 1 : 1 + some] = directions[:, :some]
    if atlas["basis"].size:
        shown = shown @ atlas["basis"].T
    shown[:, 0] += atlas["origin"]
    return shown


def member_images(
    atlas: dict[str, np.ndarray], images: np.ndarray, charts, n_directions: int = 4
) -> np.ndarray:
    """Like `chart_images`, where the atlas was fitted to other features than the pixels.

    Parameters
    ----------
    atlas : dict of ndarrays
    images : ndarray of shape (n, n_pixels)
        The images of the atlas's rows: charts are fitted to those of their members.
    charts : int array of shape (n_shown,)
    n_directions : int

    Returns
    -------
    ndarray of shape (n_shown, 1 + n_directions, n_pixels)
    """
    from fewfold.methods.atlas.charts import fit_chart

    shown = np.zeros((len(charts), 1 + n_directions, images.shape[1]))
    for i, chart in enumerate(charts):
        rows = atlas["member_rows"][atlas["member_charts"] == chart]
        shown[i, 0], directions = fit_chart(images[rows], n_directions)
        shown[i, 1 : 1 + len(directions)] = directions
    return shown


def largest_charts(about: dict[str, np.ndarray], per_class: int = 1) -> np.ndarray:
    """Return the largest charts of each main class, classes in order.

    Parameters
    ----------
    about : dict of ndarrays
        From `describe_charts`; without classes the largest charts of all.
    per_class : int

    Returns
    -------
    int ndarray
    """
    order = np.argsort(-about["size"], kind="stable")
    if "main_class" not in about:
        return order[: 10 * per_class]
    classes = np.unique(about["main_class"][about["main_class"] >= 0])
    picked = [order[about["main_class"][order] == c][:per_class] for c in classes]
    return np.concatenate(picked) if picked else order[:0]


def energy_curve(atlas: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the energy after every move: ``move``, ``energy`` and ``kind`` (a word each)."""
    from fewfold.methods.atlas.fitting import KINDS

    return {
        "move": np.arange(len(atlas["energy"])),
        "energy": np.asarray(atlas["energy"]),
        "kind": np.array(KINDS)[np.asarray(atlas["energy_kind"])],
    }
