"""Tables do not depend on cores, on the order of jobs, or on how the work is cut."""

import shutil

import numpy as np
import pandas as pd
import pytest
import yaml

from fewfold.pipeline.artifacts import read
from fewfold.pipeline.kernel_files import KernelMatrix


@pytest.fixture(scope="module")
def cut_otherwise(finished, tmp_path_factory):
    """The tests' config run with other tiles and batches, one core, and one method first."""
    project, _ = finished
    folder = tmp_path_factory.mktemp("cut_otherwise")
    config = yaml.safe_load(project.config.read_text())
    config["kernels"]["rbf"]["tile_rows"] = 7
    config["graphs"] = {"euclidean": {"tile_rows": 50}}
    config["run"]["trials_per_job"] = 3
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    run = folder / "run"
    for more in (["results/tiny_inductive/methods/eigenbasis/trials_0_2.csv"], ["all"]):
        done = project.snakemake(run, "--cores", "1", "--", *more, configs=[folder / "config.yaml"])
        assert done.returncode == 0, done.stdout[-5000:]
    yield run
    shutil.rmtree(run)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["summary", "comparisons"])
def test_tables_are_the_same_to_the_byte(finished, cut_otherwise, name):
    _, directory = finished
    one, two = (d / f"results/{name}.csv" for d in (directory, cut_otherwise))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.slow
def test_metrics_differ_in_the_seconds_only(finished, cut_otherwise):
    _, directory = finished
    tables = [pd.read_csv(d / "results/metrics.csv").drop(columns=["fit_s", "predict_s"])
              for d in (directory, cut_otherwise)]  # fmt: skip
    pd.testing.assert_frame_equal(*tables, check_exact=True)


@pytest.mark.slow
def test_the_work_was_cut_otherwise_and_kernels_agree(finished, cut_otherwise):
    _, directory = finished
    places = [d / "results/tiny" for d in (directory, cut_otherwise)]
    counts = [
        (len(list((p / "kernels/rbf").glob("tile_*"))), len(list(p.glob("graphs/*/neighbors_*"))))
        for p in places
    ]
    assert counts[0] == (2, 0) and counts[1] == (7, 3)
    kernels = [KernelMatrix(p / "kernels/rbf.h5") for p in places]
    rows, again = (read(p / "kernels/rbf.h5", "join_kernel")["rows"] for p in places)
    assert np.array_equal(rows, again)
    one, two = (k.rows(rows) for k in kernels)
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6 * np.abs(one).max())
