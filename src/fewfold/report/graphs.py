"""What the graph changes: methods that differ only in their graph, side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from fewfold.report.content import ReportContent, where
from fewfold.report.findings import HIGHER_IS_BETTER, MAIN_PROTOCOLS, main_metric, number, ordered

OWN = "its own neighbors"  # of methods that may, but need not, be given a graph
_REFERENCES = (("kernel", "kernels"), ("manifold", "manifolds"), ("graph", "graphs"))


def by_graph(content: ReportContent, dataset: str) -> dict | None:
    """Return a table of the methods that a config has on several graphs.

    Parameters
    ----------
    content : ReportContent
        With the ``config`` of the run, from which the graph of each method is read.
    dataset : str

    Returns
    -------
    dict or None
        ``graphs``, ``metric`` and ``rows`` of (method, labels, cells); a cell is None, or text
        and whether it is the best of its row. None where no method has a twin.
    """
    families = _families(content.config)
    graphs = list(dict.fromkeys(graph for family in families for graph in family))
    metric = main_metric(content.summary, dataset)
    table = where(content.summary, dataset=dataset, metric=metric)
    protocols = ordered((row["protocol"] for row in table), MAIN_PROTOCOLS)
    table = where(table, protocol=protocols[0]) if protocols else table
    means = {(row["method"], row["n_labeled"]): row["mean"] for row in table}
    budgets = sorted({budget for _, budget in means})
    rows = []
    for family in families:
        for budget in budgets:
            values = [means.get((family.get(graph), budget), math.nan) for graph in graphs]
            known = [value for value in values if math.isfinite(value)]
            if len(known) > 1:
                best = max(known) if metric in HIGHER_IS_BETTER else min(known)
                cells = [(number(v, metric), v == best) if v == v else None for v in values]
                rows.append((" / ".join(family.values()), budget, cells))
    return {"graphs": graphs, "metric": metric, "rows": rows} if rows else None


def _families(config: Mapping) -> list[dict[str, str]]:
    """Group the run's methods that are alike but for their graph: graph name to method."""
    groups: dict[str, dict[str, str]] = {}
    for method in (config.get("run") or {}).get("methods") or ():
        settings = (config.get("methods") or {}).get(method)
        if isinstance(settings, Mapping):
            graphs: list[str] = []
            chain = json.dumps(_resolved(settings, config, graphs), sort_keys=True, default=str)
            groups.setdefault(chain, {})[graphs[0] if graphs else OWN] = method
    return [family for family in groups.values() if len(family) > 1]


def _resolved(settings: Mapping, config: Mapping, graphs: list[str]) -> dict:
    """Settings with each reference replaced by what it names, and the graph left out."""
    found = dict(settings)
    for key, section in _REFERENCES:
        name = found.get(key)
        if not isinstance(name, str) or name not in (config.get(section) or {}):
            continue
        if section == "graphs":
            graphs.append(name)
            del found[key]
        else:
            found[key] = _resolved(config[section][name], config, graphs)
    return found
