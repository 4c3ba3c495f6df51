"""The cache between runs: what was computed once is not computed again, here or elsewhere."""

import pytest
import yaml

from _project import Project

EXPENSIVE = ("prepare_features", "build_graph", "fit_manifold", "compute_kernel_tile",
             "train_method", "draw_map")  # fmt: skip
CONFIG = {
    "run": {"datasets": ["tiny"], "methods": ["rbf_svm", "eigenbasis"], "labels": [6], "trials": 2},
    "datasets": {
        "tiny": {
            "source": "gaussians_g50c",
            "options": {"n_samples": 120, "n_features": 5, "seed": 1},
            "scale": "standard",
        }
    },
    "manifolds": {"basis": {"n_vectors": 8}},
}


class Cached(Project):
    """The project run through the command line with a cache."""

    cache = None

    @property
    def environment(self):
        return super().environment | {"SNAKEMAKE_OUTPUT_CACHE": str(self.cache)}


def computed(folder):
    """{job: when} of the jobs that ran in a folder; those taken from the cache have no cost."""
    files = (folder / "logs").rglob("*.cost.tsv")
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in files}


def tables(folder):
    return [(folder / f"results/{n}.csv").read_bytes() for n in ("summary", "comparisons")]


def run(project, folder, C):
    """Run with a penalty; return the rules of the jobs that were computed."""
    config = CONFIG | {"methods": {"rbf_svm": {"C": C}}}
    path = folder.parent / f"C_{C}.yaml"
    path.write_text(yaml.safe_dump(config))
    before = computed(folder)
    words = ["run", "--cores", "2", "--configfile", str(path), "--out", str(folder)]
    done = project.fewfold(*words)
    assert done.returncode == 0, done.stdout
    ran = [job for job, when in computed(folder).items() if before.get(job) != when]
    return {rule for rule in EXPENSIVE if any(f"/{rule}" in job for job in ran)}


@pytest.mark.slow
def test_restored_parameters_and_other_folders_cost_no_recomputation(project, tmp_path):
    cached = Cached(project.folder)
    cached.cache = tmp_path / "cache"
    cached.cache.mkdir()
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    assert run(cached, here, 1.0) == set(EXPENSIVE)
    first = tables(here)
    assert run(cached, here, 30.0) == {"train_method"}
    assert run(cached, here, 1.0) == set()  # the parameter is put back
    assert tables(here) == first
    assert run(cached, elsewhere, 1.0) == set()  # a folder that never computed anything
    assert tables(elsewhere) == first
