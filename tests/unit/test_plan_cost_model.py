"""The cost models behind requests and estimates come from the committed measurements."""

import csv
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from fewfold.config.defaults import merge
from fewfold.config.plan import Plan
from fewfold.config.resources import (
    COST_MODELS,
    LABEL_STAGES,
    MANY_ROWS,
    MOST_FITTED,
    SECTION,
    Need,
    Sizes,
    grow,
    known_kind,
    memory_mb,
    need,
    runtime_min,
)
from fewfold.config.sizes import kind_of
from fewfold.methods.atlas.fitting import MOST_ROWS
from fewfold.methods.registry import sections

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def scaling():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import scaling
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return scaling


def test_the_cost_models_are_those_of_the_measurements(scaling):
    assert scaling.COST_MODELS.read_text() == scaling.cost_models_text()


def test_every_stage_was_measured_at_four_sizes_or_more(scaling):
    for key, rows in scaling.read_measured().items():
        assert len({r["n"] for r in rows}) >= 4, key


def test_cost_models_are_near_what_was_measured(scaling):
    """Half of the jobs within 25 %, all within a factor of 3."""
    for (stage, kind), rows in scaling.read_measured().items():
        ratios = sorted(
            need(stage, Sizes(r["n"], r["d"], r["labels"], r["fits"]), kind).cpu_s / r["cpu_s"]
            for r in rows
        )
        if (stage, kind) in scaling.ENVELOPE:  # a bound, not a mean
            assert ratios[0] > 0.99, (stage, kind, ratios)
            continue
        assert ratios[0] > 1 / 3 and ratios[-1] < 3, (stage, kind, ratios)
        near = [ratio for ratio in ratios if 0.75 < ratio < 1.33]
        assert 2 * len(near) >= len(ratios), (stage, kind, ratios)


LABEL_JOBS = [key for key in COST_MODELS if key[0] in LABEL_STAGES]


@pytest.mark.parametrize("stage, kind", LABEL_JOBS)
def test_jobs_of_a_labeling_ask_for_what_their_candidates_take(stage, kind, scaling):
    what = f"label: {stage} {kind}".strip()
    with open(scaling.MEASURED.with_name("large.csv"), newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["what"] == what]
    assert {6000, 10**6} <= {int(row["n"]) for row in rows}
    for row in rows:
        sizes = Sizes(int(row["n"]), 30, 500)
        asked, taken = memory_mb(stage, sizes, kind), float(row["max_rss_mb"])
        assert asked > taken
        if sizes.n > MANY_ROWS:
            assert asked < 1.6 * taken
            assert 3 < runtime_min(stage, sizes, kind) < 4 + 6 * float(row["cpu_s"]) / 60
    small, wide = (memory_mb(stage, Sizes(10**6, d, 500), kind) for d in (30, 784))
    assert 1.5 * 9000 < wide - small < 1.5 * 9100


def test_a_job_of_a_labeling_is_of_the_family_it_examines():
    config = merge(
        yaml.safe_load((ROOT / "config/config.yaml").read_text()),
        {
            "run": {"datasets": ["table"], "methods": [], "labels": [100], "trials": 1},
            "datasets": {"table": {"source": "curved_manifolds", "options": {"n_samples": 10**6}}},
            "label": {"batches": [["forest", "extra_trees"], ["logistic_1"]]},
        },
    )
    plan = Plan(config)
    kinds = [kind_of(plan, SimpleNamespace(dataset="table", tile=tile)) for tile in "01"]
    assert kinds == ["trees", "linear"]
    assert need("examine_candidates", Sizes(10**6, 30, 500), "never measured") == Need(
        *(
            max(getattr(need("examine_candidates", Sizes(10**6, 30, 500), kind), part)
                for stage, kind in LABEL_JOBS if stage == "examine_candidates")
            for part in Need._fields
        )
    )  # fmt: skip


def test_a_fit_finds_the_model_of_made_up_costs(scaling):
    rows = [
        {"n": n, "d": 50, "labels": 100, "fits": f, "cpu_s": 2 + 0.5 * f * (n / 1000) ** 1.5}
        for n in (500, 1000, 2000, 4000)
        for f in (1, 4)
    ]
    found = scaling.fit_cost_model(rows, "cpu_s", powers=scaling.FREE)
    assert found == pytest.approx((2, 0.5, 1.5, 0, 0), abs=0.01)


@pytest.mark.parametrize("rule, kind", COST_MODELS)
def test_requests_leave_room_and_grow(rule, kind):
    sizes = Sizes(5000, 50, 200, 3)
    needed = need(rule, sizes, kind)
    assert memory_mb(rule, sizes, kind) >= 1.5 * needed.memory_mb
    assert runtime_min(rule, sizes, kind) * 60 >= 5 * needed.cpu_s
    assert grow(100, 1) == 101 and grow(100, 3) == 401


@pytest.mark.parametrize(
    "stage, kind",
    [
        (stage, name)
        for stage in ("train_method", "fit_manifold", "compute_kernel_tile")
        for name in sections()[SECTION[stage]]
    ],
)
def test_every_part_was_measured_or_has_a_relative_that_was(stage, kind):
    assert (stage, known_kind(stage, kind)) in COST_MODELS


def test_a_kind_that_was_not_measured_costs_what_its_relative_does():
    sizes = Sizes(5000, 50)
    relative = need("search_neighbors", sizes, "deformation")
    assert need("search_neighbors", sizes, "tangent") == relative


@pytest.mark.parametrize("n", [10**5, 10**6])
def test_an_atlas_asks_for_the_memory_of_a_sample(n, scaling):
    assert MOST_FITTED["fit_manifold", "atlas"] == MOST_ROWS
    taken = float(scaling.read_latest()["atlas, fitted", n]["max_rss_mb"])
    assert taken < memory_mb("fit_manifold", Sizes(n, 50), "atlas") < 2.5 * taken
