"""The closed schema: a misspelt key at any level is named, with the nearest valid one."""

import copy
from pathlib import Path

import pytest
import yaml

from fewfold.config.schema import place_of, read_schema, validate
from fewfold.exceptions import ConfigError

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = read_schema(ROOT)
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def changed(place, value):
    config = copy.deepcopy(DEFAULT)
    *path, last = place
    entry = config
    for step in path:
        entry = entry[step]
    entry[last] = value
    return config


def message(place, value):
    with pytest.raises(ConfigError) as error:
        validate(changed(place, value), SCHEMA)
    return str(error.value)


def test_the_default_config_is_valid():
    validate(DEFAULT, SCHEMA)


@pytest.mark.parametrize(
    ("place", "nearest", "where"),
    [
        (["runs"], "run", "the top level"),
        (["method"], "methods", "the top level"),
        (["run", "trial"], "trials", "run"),
        (["run", "sead"], "seed", "run"),
        (["datasets", "digits", "scael"], "scale", "datasets.digits"),
        (["graphs", "euclidean", "n_neigbors"], "n_neighbors", "graphs.euclidean"),
        (["manifolds", "basis", "n_vector"], "n_vectors", "manifolds.basis"),
        (["kernels", "rbf", "gama"], "gamma", "kernels.rbf"),
        (["methods", "rbf_svm", "kernell"], "kernel", "methods.rbf_svm"),
        (["methods", "knn", "n_neighbor"], "n_neighbors", "methods.knn"),
    ],
)
def test_a_misspelt_key_is_named_with_the_nearest_and_the_place(place, nearest, where):
    found = message(place, 1)
    assert f"unknown key {place[-1]!r} at {where}." in found
    assert f"Did you mean {nearest!r}?" in found


def test_a_key_like_no_other_gets_the_list():
    assert "Allowed: " in message(["methods", "knn", "zzzzzz"], 1)


@pytest.mark.parametrize(
    ("place", "new"),
    [
        (["run", "n_trials"], "trials"),
        (["run", "budgets"], "labels"),
        (["run", "random_state"], "seed"),
        (["methods", "multimanifold", "min_labelled"], "min_labeled"),
        (["methods", "multimanifold", "min_unlabelled"], "min_unlabeled"),
        (["methods", "invariant_svm", "deformations"], "deformation"),
    ],
)
def test_a_renamed_key_names_its_successor(place, new):
    assert f"It is called {new!r} now." in message(place, 1)


def test_a_renamed_value_names_its_successor():
    assert "it is called 'unlabeled' now" in message(["run", "evaluate"], "unlabelled")


def test_every_mapping_of_the_schema_is_closed():
    """No level lets unknown keys pass, except those that are free by purpose."""
    free = {"options", "metric_options", "datasets", "graphs", "manifolds", "kernels", "methods"}

    def walk(node, path):
        if isinstance(node, dict):
            if node.get("type") == "object" or "properties" in node:
                closed = "additionalProperties" in node or "allOf" in node
                conditional = "if" in path or "allOf" in path
                assert closed or conditional or path[-1] in free, path
            for key, child in node.items():
                walk(child, (*path, key))
        elif isinstance(node, list):
            for i, child in enumerate(node):
                walk(child, (*path, i))

    walk(SCHEMA, ())


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (["run", "trials"], 0, "run.trials is 0; allowed: 1 or more"),
        (["run", "trials"], 10**9, "run.trials is 1000000000; allowed: at most 10000"),
        (["run", "trials"], "many", "run.trials is 'many'; allowed: integer"),
        (["run", "seed"], -1, "run.seed is -1; allowed: 0 or more"),
        (["run", "draw"], "fair", "run.draw is 'fair'; allowed: 'random', 'stratified'"),
        (["run", "labels"], [], "run.labels is []; allowed: at least 1 entries"),
        (["run", "labels"], [5, -2], "run.labels[1] is -2; allowed: "),
        (["run", "methods"], ["knn", "knn"], "allowed: each entry once"),
        (["datasets", "digits", "scale"], "log", "datasets.digits.scale is 'log'"),
        (["datasets", "digits", "divide_by"], 0, "datasets.digits.divide_by is 0; allowed: more"),
        (["graphs", "euclidean", "n_neighbors"], 0, "graphs.euclidean.n_neighbors is 0"),
        (["graphs", "euclidean", "metric"], "manhattan", "graphs.euclidean.metric is 'manhattan'"),
        (["kernels", "rbf", "type"], "cubic", "kernels.rbf.type is 'cubic'"),
        (["methods", "knn", "learner"], "magic", "methods.knn.learner is 'magic'"),
        (["methods", "rbf_svm", "C"], -1, "methods.rbf_svm.C is -1"),
        (["run"], None, "run is None"),
        (["datasets"], [], "datasets is []"),
    ],
)
def test_wrong_values(place, value, expected):
    assert expected in message(place, value)


@pytest.mark.parametrize("key", ["run", "methods", "datasets"])
def test_missing_sections(key):
    config = copy.deepcopy(DEFAULT)
    del config[key]
    with pytest.raises(ConfigError, match=f"the key {key!r} is missing"):
        validate(config, SCHEMA)


HOSTILE = ["../up", "a/b", "/etc", "a b", "a'b", 'a"b', "a;b", "$(touch x)", "`id`", ".hidden",
           "..", "", "a\nb", "é", "a*", "x" * 101, "-rf", "{dataset}"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("section", ["datasets", "graphs", "manifolds", "kernels", "methods"])
def test_hostile_names_never_become_paths(section, name):
    entry = copy.deepcopy(next(iter(DEFAULT[section].values())))
    with pytest.raises(ConfigError) as error:
        validate(changed([section, name], entry), SCHEMA)
    assert "config:" in str(error.value) and section in str(error.value)
    assert "allowed: letters, digits" in str(error.value) or len(name) > 100


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_references(name):
    with pytest.raises(ConfigError, match=r"run\.methods\[0\]"):
        validate(changed(["run", "methods"], [name]), SCHEMA)


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "0", "v1.2", "_x"])
def test_good_names(name):
    entry = copy.deepcopy(DEFAULT["methods"]["knn"])
    validate(changed(["methods", name], entry), SCHEMA)


def test_long_values_are_cut_in_messages():
    assert len(message(["run", "draw"], "x" * 5000)) < 400


def test_places():
    assert place_of(["graphs", "a", "n_neighbors"]) == "graphs.a.n_neighbors"
    assert place_of(["run", "labels", 2]) == "run.labels[2]" and place_of([]) == "the top level"
