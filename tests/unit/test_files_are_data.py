"""A file is data, never code: no name in a file is imported, called or opened as a path."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
from _labeling_material import saved

import fewfold
from _resealed import change_file
from fewfold.exceptions import FewfoldError
from fewfold.graph.build import GraphSettings, build_graph, extend_graph, find_neighbors
from fewfold.labeling.model_file import Model
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.graph_files import read_graph, write_graph
from fewfold.pipeline.layout import MODEL_FILE
from fewfold.transforms.metrics import get_metric

SOURCE = Path(fewfold.__file__).parent
CANARY = "fewfold_canary_module"
PLANTED = f"{CANARY}:distance"


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """A module on the path that leaves a trace when it is imported."""
    trace = tmp_path / "was-imported"
    code = f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n"
    code += "def distance(row, rows):\n    return abs(rows - row).sum(axis=1)\n"
    (tmp_path / f"{CANARY}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield trace
    sys.modules.pop(CANARY, None)


GRAPHS = {
    "metric": {"metric": PLANTED},
    "base": {"metric": "orbit", "image_shape": [2, 2], "metric_options": {"base": PLANTED}},
    "nested base": {
        "metric": "orbit",
        "image_shape": [2, 2],
        "metric_options": {"base": "orbit", "base_options": {"base": PLANTED}},
    },
    "fine": {
        "metric": "orbit",
        "image_shape": [2, 2],
        "metric_options": {"base": "squared_euclidean", "fine": {"base": PLANTED}},
    },
    "transform": {
        "metric": "orbit",
        "image_shape": [2, 2],
        "metric_options": {"base": "squared_euclidean", "transforms": PLANTED},
    },
    "canonical form": {"canonicalize": [PLANTED], "image_shape": [2, 2]},
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_a_model_file_cannot_name_code(tmp_path, canary, graph):
    task, _, path = saved(tmp_path)
    with read(path, MODEL_FILE) as file:
        members = file.note("members")
    settings = members[0]["notes"]["graph_settings"]
    members[0]["notes"]["graph_settings"] = {**settings, **graph}
    change_file(path, notes={"members": members})
    with pytest.raises(FewfoldError):
        Model.load(path).predict(task.X[:5])
    assert not canary.exists()


@pytest.mark.parametrize("name", [PLANTED, f"{CANARY}.distance", "", "../diffusion", "sklearn"])
def test_a_model_file_cannot_name_a_method_that_is_not_installed(tmp_path, canary, name):
    _, _, path = saved(tmp_path)
    with read(path, MODEL_FILE) as file:
        members = file.note("members")
    members[0]["method"] = name
    change_file(path, notes={"members": members})
    with pytest.raises(FewfoldError, match="not installed"):
        Model.load(path)
    assert not canary.exists()


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_a_graph_file_cannot_name_code(tmp_path, canary, graph):
    X = np.random.default_rng(0).random((30, 4))
    path = tmp_path / "graph.h5"
    write_graph(path, build_graph(X, n_neighbors=3))
    change_file(path, settings={**GraphSettings(n_neighbors=3).to_dict(), **graph})
    with pytest.raises(FewfoldError):
        extend_graph(read_graph(path), X, X[:3])
    assert not canary.exists()


def test_a_users_own_config_and_call_can(canary):
    X = np.random.default_rng(0).random((30, 4))
    settings = GraphSettings.from_config({"metric": PLANTED, "n_neighbors": 3})
    assert canary.exists()
    assert settings.to_dict()["metric"] == PLANTED  # as text again, where it is written
    named = find_neighbors(X, settings)
    function = sys.modules[CANARY].distance
    given = find_neighbors(X, GraphSettings(metric=function, n_neighbors=3))
    np.testing.assert_array_equal(named.indices, given.indices)
    called = build_graph(X, metric=PLANTED, n_neighbors=3)
    found = np.sort(called.neighbors.indices)
    np.testing.assert_array_equal(found, np.sort(given.indices))
    nested = GraphSettings.from_config(GRAPHS["nested base"])
    assert nested.to_dict()["metric_options"]["base_options"]["base"] == PLANTED
    with pytest.raises(FewfoldError, match="never imported because a file names it"):
        get_metric(PLANTED)


# A line that turns a text into code says why that text is never a file's.
REASON = "# by name: "
RUNS_TEXT = {
    "eval", "exec", "compile", "__import__", "import_module", "find_spec", "run_path",
    "run_module", "exec_module", "unsafe_load", "full_load",
}  # fmt: skip
UNPICKLES = {"pickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}


def calls_and_imports(path):
    """Names of the functions called and of the modules imported in a source file."""
    calls, modules = [], set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else None
            name = function.id if isinstance(function, ast.Name) else name
            calls.append((name, node))
        elif isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module.split(".")[0])
    return calls, modules


def sources():
    root = SOURCE.parents[1]
    yield from ((p, str(p.relative_to(SOURCE))) for p in sorted(SOURCE.rglob("*.py")))
    yield from ((p, f"scripts/{p.name}") for p in sorted((root / "scripts").glob("*.py")))


def test_text_becomes_code_only_where_a_reason_is_given():
    places = 0
    for path, name in sources():
        calls, modules = calls_and_imports(path)
        lines = path.read_text().splitlines()
        for called, node in calls:
            if called in RUNS_TEXT and not (called == "compile" and _is_pattern(node)):
                places += 1
                said = "".join(lines[max(node.lineno - 2, 0) : node.end_lineno])
                assert REASON in said, f"{name}:{node.lineno} turns text into code without a reason"
            if called == "load" and any(
                k.arg == "allow_pickle" and getattr(k.value, "value", None) is not False
                for k in node.keywords
            ):
                pytest.fail(f"{name}:{node.lineno} unpickles arrays")
        if modules & UNPICKLES:
            bad = [n for c, n in calls if c in ("load", "loads", "Unpickler") and _on_pickle(n)]
            assert not bad, f"{name} unpickles at line {bad[0].lineno}"
    assert places >= 3  # the test still finds those that there are


def _is_pattern(node):
    return isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "re"


def _on_pickle(node):
    return isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") in UNPICKLES
