"""The further jobs of `fewfold label`: choose a method, label all rows, model file and report."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from fewfold.config.jobs import REFERENCE_KEYS, Jobs, flat_paths, plain
from fewfold.methods.registry import methods
from fewfold.pipeline import layout


class LabelJobs(Jobs):
    """The jobs of a run, and those that only `fewfold label` asks for."""

    @property
    def label(self) -> dict:
        """The config's section of `fewfold label`, key-sorted."""
        return plain(self.config.get("label", {}))

    def chain_files(self, wildcards) -> dict:
        """Return the files that each candidate's learner reads."""
        return {
            method: self._train_method_inputs(
                SimpleNamespace(dataset=wildcards.dataset, method=method)
            )
            for method in self.plan.methods_for(wildcards.dataset)
        }

    def candidate_batches(self, wildcards) -> dict:
        """Return each candidate's prediction files; none where methods are not compared."""
        name = wildcards.dataset
        methods = self.plan.methods_for(name) if self.label.get("compare") else ()
        return {method: self.trained(name, method) for method in methods}

    # --- choice and answer -----------------------------------------------------------------

    def _choose_method_inputs(self, wildcards):
        return {
            **self._rows(wildcards, "prepare_labels", "draw_splits"),
            "batches": flat_paths(self.candidate_batches(wildcards)),
        }

    def choice_settings(self, wildcards) -> dict:
        """The candidates, and how they are compared."""
        given = {k: v for k, v in self.label.items() if k in ("n_folds", "reason")}
        return {"methods": self.plan.methods_for(wildcards.dataset), **given}

    def _label_rows_inputs(self, wildcards):
        return {
            **self._rows(wildcards, "choose_method"),
            "files": flat_paths(self.chain_files(wildcards)),
        }

    def answer_settings(self, wildcards) -> dict:
        """The candidates' entries: the choice is known only when the job runs."""
        left_out = tuple(key for key in REFERENCE_KEYS if key != "learner")
        entries = {
            method: plain(self.config["methods"][method], left_out)
            for method in self.plan.methods_for(wildcards.dataset)
        }
        return {"methods": entries, "seed": self.seed}

    def answer_code(self, stage: str) -> Callable[[object], str]:
        """Return the digest's function: a candidate that was fixed is to be asked again."""

        def digest(wildcards):
            modules = {methods()[name].module for name in self._learners(wildcards).values()}
            return self.code(stage, *sorted(modules))

        return digest

    def _learners(self, wildcards):
        methods = self.plan.methods_for(wildcards.dataset)
        return {method: self.config["methods"][method]["learner"] for method in methods}

    def _cluster_rows_inputs(self, wildcards):
        manifold = self._path("fit_manifold", wildcards, manifold="basis")
        return {**self._rows(wildcards, "prepare_features"), "manifold": manifold}

    def cluster_settings(self, wildcards) -> dict:
        """How many groups."""
        return {"n_clusters": self.label.get("classes"), "seed": self.seed}

    # --- model file and report ---------------------------------------------------------------

    def _save_model_inputs(self, wildcards):
        clusters = self.label.get("task") == "clustering"
        return {
            "answer": self._path("cluster_rows" if clusters else "label_rows", wildcards),
            **self._rows(wildcards, "prepare_features", "prepare_labels"),
            "graph": self._position_graph(wildcards),
            "table": layout.TABLE,
        }

    def _position_graph(self, wildcards):
        """The graph that says which rows lie close: the first candidate's, or the plain one."""
        methods = self.plan.methods_for(wildcards.dataset)
        graphs = [graph for method in methods for graph in self.plan.graphs_of(method)]
        return self._path("build_graph", wildcards, graph=[*graphs, "euclidean"][0])

    def model_settings(self, wildcards) -> dict:
        """The learner of each candidate."""
        return {"learners": self._learners(wildcards)}

    def _make_label_report_inputs(self, wildcards):
        return {
            **self._save_model_inputs(wildcards),
            "picture": self._path("draw_map", wildcards),
            "model": self._path("save_model", wildcards),
        }

    def label_report_settings(self, wildcards) -> dict:
        """What the report shows besides its files."""
        shown = {k: self.config[k] for k in ("run", "datasets", "label") if k in self.config}
        return {
            "abstain": self.label.get("abstain"),
            "spreadsheet_safe": self.label.get("spreadsheet_safe", False),
            "config": shown,
        }
