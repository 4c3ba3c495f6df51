"""The further jobs of `fewfold label`: prepare and examine candidates, label and report."""

from __future__ import annotations

from collections.abc import Callable

from fewfold.config.jobs import Jobs, flat_paths, plain
from fewfold.methods.members import named_members
from fewfold.pipeline import layout


class LabelJobs(Jobs):
    """The jobs of a run, and those that only `fewfold label` asks for."""

    @property
    def label(self) -> dict:
        """The config's section of `fewfold label`, key-sorted."""
        return plain(self.config.get("label", {}))

    # --- what needs no label ---------------------------------------------------------------

    def label_graphs(self, wildcards) -> dict:
        """Return the graphs that rules of their own build, in tiles: those of many rows."""
        return {
            graph: self._path("build_graph", wildcards, graph=graph)
            for graph in self.label.get("graphs", ())
            if self.plan.graph_tiles(wildcards.dataset, graph) > 1
        }

    def _own_graph(self):
        return {"own_graph": layout.OWN_GRAPH} if self.label.get("own_graph") else {}

    def _prepare_candidates_inputs(self, wildcards):
        graphs = self.label_graphs(wildcards)
        found = {"features": layout.FEATURES, "graphs": list(graphs.values())}
        return found | self._own_graph()

    def preparation_settings(self, wildcards) -> dict:
        """The candidates, and the graphs that are built along with what they prepare."""
        elsewhere = self.label_graphs(wildcards)
        graphs = {
            graph: plain(self.config["graphs"][graph], ("tile_rows",))
            for graph in self.label.get("graphs", ())
            if graph not in elsewhere
        }
        return {
            "graphs": graphs,
            "members": self.label.get("members", []),
            "seed": self.seed,
            "task": self.plan.describe(wildcards.dataset).task,
        }

    # --- candidates and answer ---------------------------------------------------------------

    def task_files(self, wildcards) -> dict:
        """Return what a candidate learns from."""
        found = {"features": layout.FEATURES, "labels": layout.LABELS}
        if self.label.get("one_job"):
            return found | self._own_graph()
        return found | {
            "prepared": self._path("prepare_candidates", wildcards),
            "graphs": self.label_graphs(wildcards),
        }

    def _examine_candidates_inputs(self, wildcards):
        return {"files": flat_paths(self.task_files(wildcards))}

    def examination_settings(self, wildcards) -> dict:
        """The candidates of one job."""
        return {
            "members": self.label["batches"][int(wildcards.tile)],
            "quick": self.label.get("quick", False),
            "seed": self.seed,
        }

    def answer_files(self, wildcards) -> dict:
        """Return what the answer is made from."""
        batches = range(len(self.label.get("batches", ())))
        return {
            **self.task_files(wildcards),
            "evidence": [self._path("examine_candidates", wildcards, tile=i) for i in batches],
            "table": layout.TABLE,
        }

    def _label_rows_inputs(self, wildcards):
        return {"files": flat_paths(self.answer_files(wildcards))}

    def answer_settings(self, wildcards) -> dict:
        """The candidates and how they are combined."""
        found = {k: self.label[k] for k in ("priors", "quick") if k in self.label}
        if self.label.get("classes"):
            found["n_clusters"] = self.label["classes"]
        if self.label.get("one_job"):
            found["graphs"] = self.preparation_settings(wildcards)["graphs"]
        return {"members": self.label.get("members", []), "seed": self.seed, **found}

    def answer_code(self, stage: str) -> Callable[[object], str]:
        """Return the digest's function: a candidate whose code changed is fitted again."""

        def digest(wildcards):
            names = self.label.get("members", [])
            task = self.plan.describe(wildcards.dataset).task
            modules = {member.method.module for member in named_members(task, names)}
            return self.code(stage, *sorted(modules))

        return digest

    def label_report_settings(self, wildcards) -> dict:
        """What the report shows besides its files."""
        own = {wildcards.dataset: self.config["datasets"][wildcards.dataset]}
        shown = {"datasets": own, "label": self.label}
        return {
            "abstain": self.label.get("abstain"),
            "spreadsheet_safe": self.label.get("spreadsheet_safe", False),
            "config": shown,
        }
