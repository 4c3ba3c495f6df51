"""Pictures that belong to one method, drawn for one labelled draw of one dataset.

Each function takes the chain's `Inputs`, the draw and the method's options, and yields
(title, caption, matplotlib figure). A part of `fewfold.config.parts` names the one it has.
"""

from __future__ import annotations

import numpy as np


def multimanifold(inputs, labeled, targets, y, *, n_classes, seed, settings):
    """The decision sets, the weighted graph, and sizes against bounds."""
    from fewfold.methods.multimanifold.estimators import (
        MultiManifoldClassifier,
        MultiManifoldRegressor,
    )
    from fewfold.report import multimanifold_figures as figures

    options = {k: v for k, v in settings.items() if k not in ("mode", "learner")}
    if settings.get("mode", "ssl") != "ssl":
        return
    is_class = inputs.task == "classification"
    given = np.full(inputs.X.shape[0], -1 if is_class else np.nan)
    given = given.astype(np.int64) if is_class else given
    given[labeled] = targets
    kind = MultiManifoldClassifier if is_class else MultiManifoldRegressor
    partition = kind(random_state=seed, **options).fit(inputs.X, given).partition_
    yield (
        "Decision sets",
        "Rows coloured by the part they fall into; each part has a learner of its own.",
        figures.partition_figure(partition, inputs.X),
    )
    yield (
        "The Hellinger graph",
        "Edges between kept points whose local covariances agree are heavy (red).",
        figures.graph_figure(partition),
    )
    yield "Sizes of the parts", "Against the least sizes allowed.", figures.sizes_figure(partition)
