import html
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench

    return bench


def record(row, contender, cpu_s, repeat=0):
    return {"row": row, "contender": contender, "repeat": repeat, "threads": 1, "wall_s": cpu_s,
            "cpu_s": cpu_s, "ready_cpu_s": 0.5, "peak_mb": 3.0, "quality": 1.0}  # fmt: skip


def test_ratio_is_least_peer_over_least_ours(bench):
    found = [
        record("gradient", "fewfold", 2.0), record("gradient", "fewfold", 1.0, 1),
        record("gradient", "peer", 6.0), record("gradient", "peer", 4.0, 1),
        record("kernel_svm", "peer", 4.0),
    ]  # fmt: skip
    assert bench.ratios(found) == {("gradient", "peer"): 4.0}


def test_a_loss_of_more_than_forty_percent_is_reported(bench):
    committed = {("a", "peer"): 10.0, ("b", "peer"): 10.0, ("c", "peer"): 10.0}
    bad = bench.losses({("a", "peer"): 5.9, ("b", "peer"): 6.1, ("new", "peer"): 0.1}, committed)
    assert len(bad) == 1 and bad[0].startswith("a against peer: ratio 5.90, committed 10.00")


def test_measuring_some_rows_keeps_the_others(bench, tmp_path):
    path = tmp_path / "results/quick.csv"
    path.parent.mkdir()
    bench.write_results(path, [record("a", "fewfold", 1.0), record("b", "fewfold", 2.0)])
    bench.write_results(path, [record("b", "fewfold", 3.0)])
    assert {r["row"]: r["cpu_s"] for r in bench.read_results(path)} == {"a": 1.0, "b": 3.0}


def test_a_measurement_counts_the_work_and_its_memory(bench, tmp_path):
    from learner_rows import cluster_input

    path = tmp_path / "input.npz"
    np.savez(path, **cluster_input(400, 3))
    command = [sys.executable, str(BENCHMARKS / "bench.py"), "--measure"]
    done = subprocess.run(
        [*command, "constrained_kmeans", "fewfold", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    figures = json.loads(done.stdout)
    assert 0 < figures["cpu_s"] < 30 and 0 <= figures["peak_mb"] < 500
    assert 0 < figures["quality"] < 20


def test_every_row_has_us_and_a_peer_and_quick_needs_no_download(bench):
    from speed_rows import OURS, ROWS

    for row in ROWS.values():
        assert OURS in row.contenders and len(row.contenders) > 1
        assert row.sizes.get("quick", {}).get("source", "curved") in ("curved", "digits")


def test_exact_and_peer_gradients_follow_their_formulas(bench):
    import learner_rows

    data = learner_rows.embedding_input(60, 3)
    for contender in (learner_rows.our_gradient, learner_rows.sklearn_gradient):
        work, judge = contender(data)
        assert judge(work()) < 1e-5


@pytest.mark.parametrize(
    ("ours", "peer", "sign"), [(3.0, 3.1, "<"), (3.1, 3.0, "="), (3.4, 3.0, ">")]
)
def test_equal_means_within_one_standard_error(bench, ours, peer, sign):
    import bench_page

    assert bench_page.verdict({"mean": ours, "se": 0.1}, {"mean": peer, "se": 0.1}) == sign


def test_peers_take_known_neighbors_and_label_all_rows(bench):
    import peers

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = (rng.normal(0, 0.3, (120, 4)) + 4 * y[:, None]).astype(np.float32)
    near = peers.exact_neighbors(X, 11)
    labeled, rows = np.array([0, 1, 40, 41, 80, 81]), np.arange(120)
    labellers = [
        peers.scikit_learn_spreading(X, y, near),
        peers.scikit_learn_spreading(X, y, near, propagation=True),
        peers.rbf_svm(X, y, rows),
        peers.nearest(X, y, rows),
        peers.self_training(X, y, rows, 60),
    ]
    for label in labellers:
        assert np.mean(label(labeled) == y) > 0.95


def test_the_page_holds_what_was_measured(bench):
    import bench_page

    assert bench_page.PAGE.read_text(encoding="utf-8") == bench_page.render(), (
        "docs/benchmarks.md is not what benchmarks/results give: python benchmarks/bench.py page"
    )


def test_committed_ratios_come_from_three_repeats_and_we_lead(bench):
    found = bench.read_results(bench.RESULTS / "quick.csv")
    assert {"neighbors_exact", "eigenvectors_20", "kernel_svm"} <= {r["row"] for r in found}
    cells = [(r["row"], r["contender"]) for r in found]
    assert min(cells.count(cell) for cell in cells) >= 3
    assert min(bench.ratios(found).values()) > 1


def test_the_figures_show_what_was_measured(bench):
    import bench_page
    import cost_figures
    import large

    for name, values, command in (
        ("scaling", cost_figures.growth_points(large.read_latest()), "large.py figure"),
        ("speed", bench_page.speed_ratios(), "bench.py page"),
    ):
        drawn = (cost_figures.IMAGES / f"{name}.svg").read_text(encoding="utf-8")
        said = cost_figures.as_text(values) in html.unescape(drawn)
        assert said, f"docs/images/{name}.svg is of other figures: python benchmarks/{command}"
