"""Pictures that belong to one method: drawn where a run has what they need."""

from __future__ import annotations


def extra_figures(datasets, config) -> list:
    """Return the figures of all methods and manifolds that have pictures of their own.

    Parameters
    ----------
    datasets : dict
        As in `fewfold.report.gather.gather`.
    config : dict
    """
    return []
