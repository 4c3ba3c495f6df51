"""After a change, exactly what depends on it runs again."""

import re
import shutil

import pytest

from _project import Project

END = {"collect_metrics": 1, "make_report": 1}
# Of tiny: two batches of trials, each with one job of k-NN and SVM, and one of the eigenbasis.
TRAIN_TINY = {"train_method": 4, **END}
DRAWN = {"prepare_labels": 1}
KERNEL = {"compute_kernel_tile": 2, "join_kernel": 1}
GRAPH = {"build_graph": 1, "fit_manifold": 1}
# The eigenbasis method of both datasets: two batches of trials and one.
EIGENBASIS = {"train_method": 3, **END}

CONFIG_CHANGES = {
    "nothing": ({}, {}),
    "source option": (
        {"datasets.tiny.options": {"n_samples": 120, "n_features": 5, "seed": 2}},
        {"fetch_dataset": 1, "prepare_features": 1, **DRAWN, "draw_map": 1, **GRAPH, **KERNEL,
         **TRAIN_TINY},
    ),
    "scale": (
        {"datasets.tiny.scale": "minmax"},
        {"prepare_features": 1, "draw_map": 1, **GRAPH, **KERNEL, **TRAIN_TINY},
    ),
    "pca": (
        {"datasets.tiny.pca": 3},
        {"prepare_features": 1, "draw_map": 1, **GRAPH, **KERNEL, **TRAIN_TINY},
    ),
    "seed": (
        {"run.seed": 5},
        {"prepare_features": 2, "prepare_labels": 2, "draw_map": 2, "build_graph": 2,
         "extend_graph": 1, "fit_manifold": 2, **KERNEL, "train_method": 6, **END},
    ),
    "labels": ({"datasets.tiny.labels": [6, 13]}, {**DRAWN, **KERNEL, **TRAIN_TINY}),
    "draw": ({"datasets.tiny.draw": "random"}, {**DRAWN, **KERNEL, **TRAIN_TINY}),
    "fewer trials": (
        {"datasets.tiny.trials": 2},  # one tile and one batch are enough for them
        {**DRAWN, "compute_kernel_tile": 1, "train_method": 2, **END},
    ),
    "trials per job": (
        {"run.trials_per_job": 4},
        {"train_method": 2, **END},
    ),
    "holdout": (
        {"datasets.tiny_inductive.holdout": 0.3},
        {"prepare_features": 1, **DRAWN, "draw_map": 1, **GRAPH, "extend_graph": 1,
         "train_method": 2, **END},
    ),
    "graph: neighbors": (
        {"graphs.euclidean.n_neighbors": 7},
        {"build_graph": 2, "extend_graph": 1, "fit_manifold": 2, **EIGENBASIS},
    ),
    "graph: weights": (
        {"graphs.euclidean.weights": "binary"},
        {"build_graph": 2, "extend_graph": 1, "fit_manifold": 2, **EIGENBASIS},
    ),
    "manifold": ({"manifolds.basis.n_vectors": 9}, {"fit_manifold": 2, **EIGENBASIS}),
    "kernel": (
        {"kernels.rbf.gamma": 0.5},
        {**KERNEL, "train_method": 2, **END},
    ),
    "kernel tiles": (
        {"kernels.rbf.tile_rows": 60},
        {"compute_kernel_tile": 1, "train_method": 2, **END},
    ),
    "method: C": (
        {"methods.rbf_svm.C": 3.0},
        {"train_method": 2, **END},
    ),
    "method: k": (
        {"methods.knn.n_neighbors": 3},
        {"train_method": 3, **END},
    ),
    "one more method": (
        {"run.methods": ["knn", "rbf_svm", "eigenbasis", "linear_svm"]},
        {"train_method": 3, **END},
    ),
    "one method less": ({"run.methods": ["knn", "rbf_svm"]}, END),
    "report only": (
        {"datasets.tiny_inductive.skip": {"rbf_svm": "told otherwise"}},
        {"make_report": 1},
    ),
    "something the run does not use": ({"methods.linear_svm.C": 2.0}, {"make_report": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIG_CHANGES)
def test_a_change_in_the_config(finished, name):
    project, directory = finished
    changes, expected = CONFIG_CHANGES[name]
    assert project.jobs(directory, changes) == expected


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    changed = re.sub(old, new, text, count=1, flags=re.MULTILINE)
    assert changed != text, f"{old!r} is not in {path}"
    path.write_text(changed, encoding="utf-8")


CODE_CHANGES = {
    # module: (text to find, what replaces it, jobs)
    "report/map_positions.py": (
        r"n_shown: int = 2000", "n_shown: int = 1999", {"draw_map": 2, "make_report": 1}
    ),
    "pipeline/statistics.py": (r"level: float = 0\.95", "level: float = 0.96", END),
    "methods/eigenbasis/basis.py": (r"\Z", "\nADDED = 1\n", {"fit_manifold": 2, **EIGENBASIS}),
    "report/gather.py": (r"\Z", "\nADDED = 1\n", {"make_report": 1}),
    "datasets/synthetic.py": (
        r"\Z", "\nADDED = 1\n",
        {"fetch_dataset": 2, "prepare_features": 2, "prepare_labels": 2, "draw_map": 2,
         "build_graph": 2, "extend_graph": 1, "fit_manifold": 2, **KERNEL, "train_method": 6,
         **END},
    ),
}  # fmt: skip


@pytest.fixture
def changeable(finished, tmp_path):
    """The finished run, with a library whose code a test may change."""
    project, directory = finished
    shutil.copytree(project.folder / "src", tmp_path / "src")
    return Project(project.folder, tmp_path / "src"), directory


@pytest.mark.parametrize("module", CODE_CHANGES)
def test_a_change_in_a_module_that_one_stage_uses(changeable, module):
    project, directory = changeable
    old, new, expected = CODE_CHANGES[module]
    edit(project.code / "fewfold" / module, old, new)
    assert project.jobs(directory) == expected


def test_comments_docstrings_and_layout_change_nothing(changeable):
    project, directory = changeable
    for module in (*CODE_CHANGES, "pipeline/artifacts.py", "labels.py", "svm/kernels.py"):
        path = project.code / "fewfold" / module
        edit(path, '^"""', '"""Said otherwise. ')  # the module's docstring
        edit(path, r"\Z", "\n\n\n# A remark.\n")
    assert project.jobs(directory) == {}
