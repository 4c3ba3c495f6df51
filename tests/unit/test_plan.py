"""From config to chains and jobs: what does not fit is found before any job starts."""

import copy
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from fewfold.config.jobs import Jobs
from fewfold.config.plan import Plan
from fewfold.exceptions import ConfigError
from fewfold.methods.registry import records

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())
TINY = yaml.safe_load((ROOT / "config/test/config.yaml").read_text())


def merged(base, over):
    if not isinstance(base, dict) or not isinstance(over, dict):
        return copy.deepcopy(over)
    return {k: merged(base[k], over[k]) if k in base and k in over
            else copy.deepcopy(over.get(k, base.get(k))) for k in {**base, **over}}  # fmt: skip


def plan(**changes):
    config = merged(DEFAULT, TINY)
    for place, value in changes.items():
        *path, last = place.split("__")
        entry = config
        for step in path:
            entry = entry.setdefault(step, {})
        entry[last] = value
    return Plan(config)


def refuses(match, **changes):
    with pytest.raises(ConfigError, match=match):
        plan(**changes)


def test_default_and_tiny_configs_fit_together():
    assert Plan(DEFAULT).pairs and len(plan().pairs) == 5


@pytest.mark.parametrize("part", records(),
                         ids=lambda p: p.target)  # fmt: skip
def test_every_part_can_be_imported(part):
    assert callable(part.load()) and part.target.startswith(part.module)


def test_unknown_references():
    refuses(r"run.datasets names 'tinny'.*Did you mean 'tiny'\?", run__datasets=["tinny"])
    refuses(r"run.methods names 'kn'.*Did you mean 'knn'\?", run__methods=["kn"])
    refuses(
        r"methods.rbf_svm.kernel names 'rbff'.*Did you mean 'rbf'", methods__rbf_svm__kernel="rbff"
    )
    refuses(r"manifolds.basis.graph names 'nothing_like_it', which is not under graphs",
            manifolds__basis__graph="nothing_like_it")  # fmt: skip
    refuses(r"datasets.tiny.skip names 'zzz'", datasets__tiny__skip={"zzz": "because of it"})


def test_chains_that_do_not_fit():
    refuses(r"methods.rbf_svm \(svm\) needs a kernel. Add 'kernel: <name under kernels>'",
            methods__rbf_svm={"learner": "svm"})  # fmt: skip
    refuses(r"methods.knn.graph is given, but knn does not use a graph; it uses the features only",
            methods__knn={"learner": "knn", "graph": "euclidean"})  # fmt: skip
    refuses(r"methods.eigenbasis.manifold names 'charts' of type 'atlas'; eigenbasis needs",
            methods__eigenbasis__manifold="charts")  # fmt: skip
    refuses(
        r"manifolds.basis \(eigenbasis\) needs a graph", manifolds__basis={"type": "eigenbasis"}
    )
    refuses(r"manifolds.charts \(atlas\) needs a graph", manifolds__charts={"type": "atlas"},
            run__methods=["atlas"])  # fmt: skip


def test_datasets_that_do_not_fit():
    refuses("official test rows, but gaussians_g50c has none", datasets__tiny__evaluate="test")
    refuses("official test rows, but", datasets__tiny_inductive__holdout="official")
    refuses("draw: given, but gaussians_g50c has no label splits", datasets__tiny__draw="given")
    refuses(
        "draw: disjoint needs trials x labels = 600 rows",
        datasets__tiny__draw="disjoint",
        datasets__tiny__trials=50,
    )
    refuses("labels: 121, but the dataset has 120 rows", datasets__tiny__labels=[121])
    refuses("works on images, but rows of 'tiny' have no image shape",
            run__methods=["invariant_diffusion"], run__datasets=["tiny"])  # fmt: skip


def test_bad_sources_are_config_errors():
    refuses("config: datasets.tiny: ", datasets__tiny__source="nothing_of_the_kind")
    refuses("config: datasets.tiny: ", datasets__tiny__options={"n_sampels": 5})
    refuses("config: datasets.tiny: ", datasets__tiny__options={"n_samples": -5})
    refuses("config: datasets.tiny: ", datasets__tiny__options={"n_samples": "many"})
    refuses("config: datasets.tiny: ", datasets__tiny__options={"n_samples": 10**15})
    refuses("config: datasets.tiny: .*nowhere.csv", datasets__tiny={
        "source": "file", "options": {"path": "nowhere.csv", "target": "y"}})  # fmt: skip
    refuses("config: datasets.tiny: ", datasets__tiny={"source": "file"})


def test_everything_skipped():
    config = plan(
        run__datasets=["tiny"], run__methods=["knn"], datasets__tiny__skip={"knn": "why not"}
    )
    with pytest.raises(ConfigError, match="nothing to run"):
        config.pairs  # noqa: B018


def test_overrides_and_chains():
    made = plan(datasets__tiny__trials=9, datasets__tiny__labels=[0.5, 3])
    assert made.dataset("tiny")["trials"] == 9 and made.dataset("tiny_inductive")["trials"] == 2
    assert made.dataset("tiny")["draw"] == "stratified"
    assert made.largest_budget("tiny") == 60
    assert made.trial_batches("tiny") == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]
    assert made.read_graph("eigenbasis") == "euclidean" and made.used("kernels", "knn") == []
    assert made.used("graphs", "eigenbasis") == ["euclidean"] and made.used("graphs", "knn") == []
    assert made.used("manifolds", "eigenbasis") == ["basis"]


def test_sizes_and_tiles():
    made = plan()
    assert made.n_rows("tiny") == 120 and made.n_held_out("tiny") == 0
    assert made.n_rows("tiny_inductive") == 90 and made.n_held_out("tiny_inductive") == 30
    assert made.kernel_tiles("tiny", "rbf") == 2  # 4 trials x 12 labels in tiles of 30
    assert plan(kernels__rbf__tile_rows=1).kernel_tiles("tiny", "rbf") == 48
    assert plan(datasets__tiny__labels=[1.0]).kernel_tiles("tiny", "rbf") == 4  # 120 rows at most
    assert made.graph_tiles("tiny", "euclidean") == 1
    assert plan(graphs__euclidean__tile_rows=50).graph_tiles("tiny", "euclidean") == 3


def test_an_approximate_search_is_one_job_unless_the_run_is_cut():
    found = {"graphs__euclidean__method": "approximate", "graphs__euclidean__tile_rows": 50}
    for more, tiles in (({}, 1), ({"tile_rows": 120}, 1), ({"tile_rows": 50}, 3)):
        made = plan(**found, **more)
        assert made.graph_tiles("tiny", "euclidean") == tiles
        assert made.has_index("tiny", "euclidean") == (tiles > 1)
        stages = {job.stage for job in Jobs(made).walk()}
        assert ("index_neighbors" in stages) == (tiles > 1)
    assert not plan(tile_rows=50).has_index("tiny", "euclidean")  # few rows: all are compared


def test_methods_that_do_not_do_the_task_are_skipped_with_the_reason(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("x,y\n" + "\n".join(f"{i},{i / 3}" for i in range(20)))
    made = plan(
        datasets__values={"source": "file", "options": {"path": str(table), "target": "y",
                                                        "task": "regression"}},
        run__datasets=["values"], run__methods=["knn", "linear_svm"], run__labels=[5],
    )  # fmt: skip
    assert made.methods_for("values") == ["knn"]
    assert made.skipped("values") == {"linear_svm": "linear_svm does not do regression"}


def test_settings_of_the_encoder_alone_refit_no_manifold():
    job = SimpleNamespace(dataset="digits", manifold="charts")
    one, two = (Jobs(plan(manifolds__charts__q=q), ROOT) for q in (4, 6))
    assert one.manifold_settings(job) == two.manifold_settings(job)
    assert one.encoding_settings(job) == {"kind": "atlas", "options": {"q": 4}}
    assert two.encoding_settings(job) != one.encoding_settings(job)
    other = Jobs(plan(manifolds__charts__n_dims=3), ROOT)
    assert other.manifold_settings(job) != one.manifold_settings(job)


def test_an_atlas_is_fitted_to_the_neighbors_of_its_graph():
    made = plan(run__datasets=["tiny"], run__methods=["atlas"], graphs__other={"n_neighbors": 5})
    job = SimpleNamespace(dataset="tiny", manifold="charts")
    paths = Jobs(made, ROOT).inputs("fit_manifold")(job)
    assert str(paths["graph"]).endswith("results/tiny/graphs/euclidean.h5")
    other = plan(manifolds__charts__graph="other", graphs__other={"n_neighbors": 5})
    assert str(Jobs(other, ROOT).inputs("fit_manifold")(job)["graph"]).endswith("other.h5")


def test_the_encoding_depends_on_the_code_of_its_own_encoder():
    jobs = Jobs(plan(manifolds__lle={"type": "embedding"}), ROOT)
    digests = {
        jobs.encoding_code(SimpleNamespace(dataset="digits", manifold=name))
        for name in ("charts", "lle")
    }
    assert len(digests) == 2


def test_a_kernel_above_its_limit_is_not_stored_for_learners_that_can_do_without():
    made = plan(
        run__methods=["atlas", "rbf_svm"],
        kernels__atlas__max_gb=1e-6,
        kernels__rbf__max_gb=1e-6,
        methods__atlas__kernel="atlas",
    )
    assert made.stores_kernel("tiny", "rbf")  # its learner must have it
    assert list(made.large_kernels("tiny")) == ["atlas"]
    jobs = Jobs(made)
    stages = {(job.stage, getattr(job.wildcards, "kernel", "")) for job in jobs.walk()}
    assert ("compute_kernel_tile", "atlas") not in stages
    assert ("compute_kernel_tile", "rbf") in stages


def million(methods, labels, **changes):
    data = {"source": "curved_manifolds", "options": {"n_samples": 10**6}}
    return {"run__datasets": ["big"], "run__methods": methods, "run__labels": [labels],
            "run__trials": 1, "datasets__big": data, **changes}  # fmt: skip


@pytest.mark.parametrize("method", ["rbf_svm", "eigenbasis", "diffusion", "mbed", "linear_svm"])
def test_a_thousand_labels_of_a_million_rows_are_planned(method):
    assert plan(**million([method], 1000)).pairs == [("big", method)]


def test_what_grows_with_pairs_of_a_million_rows_is_refused_at_once():
    labels = 10**6
    refuses(
        r"methods.rbf_svm on 'big': the kernel 'rbf' between up to 1000000 labeled rows and all "
        r"rows takes 4000 GB; allowed: 500. Lower labels .* \(linear_svm",
        **million(["rbf_svm"], labels),
    )
    # Not stored, but the learner would look at all labeled pairs.
    refuses(
        r"methods.atlas on 'big': .* each other takes 4000 GB",
        **million(["atlas"], labels),
    )
    dense = {"mbed": {"learner": "mbed", "max_exact": 10**6}}
    refuses(
        r"methods.mbed on 'big': with max_exact: 1000000 all pairs of the 1000000 rows are held, "
        r"8000 GB; allowed: 500. Lower max_exact \(default 5000\)",
        **million(["mbed"], 100, methods__mbed=dense["mbed"]),
    )
    assert plan(**million(["linear_svm", "diffusion"], labels)).pairs


def test_a_method_has_its_manifold_stage_without_naming_it():
    made = plan(run__methods=["mbed", "multimanifold", "clairvoyant"])
    entries = {name: made.config["methods"][name].get("manifold") for name in made.run["methods"]}
    assert entries == {"mbed": "sne", "multimanifold": "hellinger", "clairvoyant": None}
    other = plan(run__methods=["mbed"], methods__mbed__perplexity=9.0)
    key = other.config["methods"]["mbed"]["manifold"]
    assert other.config["manifolds"][key] == {"type": "sne", "perplexity": 9.0}
    with pytest.raises(ConfigError, match="methods.mbed.perplexity is a setting of its manifold"):
        plan(run__methods=["mbed"], methods__mbed__perplexity=9.0, methods__mbed__manifold="x")


def test_the_default_run_has_at_most_45_jobs():
    made = Plan(yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8")))
    assert len(Jobs(made).walk()) + 1 <= 45  # with Snakemake's own


def test_methods_of_one_batch_share_a_kernel():
    changes = {
        "run__methods": ["knn", "rbf_svm", "wide_svm", "same_svm"],
        "kernels__wide": {"type": "rbf", "gamma": 0.001},
        "methods__wide_svm": {"learner": "svm", "kernel": "wide"},
        "methods__same_svm": {"learner": "svm", "kernel": "rbf", "C": 1.0},
    }
    made = plan(**changes)
    names = {m: made.batch_of("tiny", m) for m in made.run["methods"]}
    assert names == {"knn": "light", "rbf_svm": "light", "wide_svm": "wide_svm",
                     "same_svm": "light"}  # fmt: skip
    for method, kernel in (("light", "rbf"), ("wide_svm", "wide")):
        job = SimpleNamespace(dataset="tiny", method=method, first=0, last=2)
        assert f"kernels/{kernel}" in Jobs(made).inputs("train_method")(job)["kernel"]
