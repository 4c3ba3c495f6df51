"""Any config: it is planned whole, or refused with a fewfold error; nothing else happens.

More cases: FEWFOLD_FUZZ=5000 pytest -s tests/unit/test_fuzz_configs.py
"""

import copy
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fewfold.config.estimate import estimate
from fewfold.config.plan import Plan
from fewfold.config.schema import read_schema, validate
from fewfold.exceptions import FewfoldError

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = read_schema(ROOT)
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())
CASES = int(os.environ.get("FEWFOLD_FUZZ", "300"))
COUNTS = {"planned": 0, "refused": 0}

NAMES = st.sampled_from(
    ["../up", "/etc/passwd", "a b", "a;b", "$(id)", "`id`", "a'b", 'a"b', "", ".", "..", "CON",
     "digits", "helix", "knn", "rbf", "euclidean", "basis", "mbed", "{dataset}", "a/b", "\n", "ä"]
)  # fmt: skip
NUMBERS = st.sampled_from(
    [0, 1, -1, 2, 3, 10**6, 10**12, 2**63, 10**30, 0.0, 0.5, 1.0, -0.1, 1e300]
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, NAMES, st.text(max_size=8))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(NAMES, st.text(max_size=8)), inner,
                                                     max_size=3)),
    max_leaves=4,
)  # fmt: skip


def places(entry, path=()):
    """Every place in a config."""
    items = (
        entry.items() if isinstance(entry, dict)
        else enumerate(entry) if isinstance(entry, list) else ()
    )  # fmt: skip
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def value_at(path):
    entry = DEFAULT
    for step in path:
        entry = entry[step]
    return entry


PLACES = list(places(DEFAULT))
LEAVES = [v for v in map(value_at, PLACES) if not isinstance(v, (dict, list))]
CHANGE = st.tuples(
    st.sampled_from(["put", "put", "put", "remove", "add"]),
    st.sampled_from(PLACES),
    NAMES,
    st.one_of(VALUES, st.sampled_from(LEAVES), st.integers(1, 300)),  # some of them are valid
)


def changed(changes):
    config = copy.deepcopy(DEFAULT)
    for how, path, name, value in changes:
        entry = config
        try:
            for step in path[:-1]:
                entry = entry[step]
            if how == "remove":
                del entry[path[-1]]
            elif how == "add":
                entry[name] = value
            else:
                entry[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            pass  # an earlier change took the place away
    return config


def plan_everything(config):
    """What the Snakefile asks a plan for before the first job."""
    validate(config, SCHEMA)
    plan = Plan(config)
    for dataset, method in plan.pairs:
        assert plan.trial_batches(dataset)
        for graph in plan.used("graphs", method):
            assert plan.graph_tiles(dataset, graph) >= 1
        for kernel in plan.used("kernels", method):
            assert plan.kernel_tiles(dataset, kernel) >= 1
    found = estimate(plan)
    for stage in found.stages:
        assert stage.jobs >= 1 and min(stage.cpu_s, stage.memory_mb) > 0
    assert found.jobs > len(plan.pairs) and found.storage > 0
    return plan


@settings(
    max_examples=CASES, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(st.lists(CHANGE, min_size=1, max_size=3))
@example([("put", ("run", "labels"), "", [10**30])])
@example([("put", ("datasets", "helix", "options", "n_samples"), "", 10**30)])
@example(
    [("put", ("run", "datasets"), "", ["../up"]), ("add", ("datasets", "digits"), "../up", {})]
)
def test_any_config_is_planned_or_refused(changes):
    try:
        plan_everything(changed(changes))
        COUNTS["planned"] += 1
    except FewfoldError as error:
        assert len(str(error)) > 10
        COUNTS["refused"] += 1


def test_both_outcomes_were_met_and_counted():
    if not sum(COUNTS.values()):
        pytest.skip("nothing was counted yet: runs together with the tests before it in this file")
    print(f"\nconfigs tried: {sum(COUNTS.values())} ({COUNTS})")
    assert min(COUNTS.values()) > 0


@pytest.mark.parametrize(
    "name", ["../up", "/abs", "a/b", "a b", "a;b", "$(id)", "`id`", "a'b", 'a"b', "..", ".hidden",
             "a\nb", ""]
)  # fmt: skip
@pytest.mark.parametrize("section", ["datasets", "methods", "graphs", "manifolds", "kernels"])
def test_names_that_could_leave_the_results_folder_or_reach_a_shell_are_refused(section, name):
    config = copy.deepcopy(DEFAULT)
    config[section][name] = copy.deepcopy(next(iter(config[section].values())))
    with pytest.raises(FewfoldError):
        validate(config, SCHEMA)
