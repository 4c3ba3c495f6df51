"""Published beside measured: statuses, statements, costs, files, and the committed page."""

import math
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from _published_tables import check_claims, check_published, check_roles
from reproduction import load, write_page
from reproduction_figures import series, sheet
from reproduction_tables import cell, paper_table

from fewfold.exceptions import ConfigError, InputError, RunFailed
from fewfold.reproduce.command import overrides, reproduce_all, with_trials
from fewfold.reproduce.compare import (
    compare,
    count,
    digits,
    judge_claims,
    lookup,
    status,
    tally,
    tolerance,
)
from fewfold.reproduce.costs import by_stage, costs_of, longest_chain, time_on
from fewfold.reproduce.measured import (
    FACTS,
    collect,
    commit_at,
    facts,
    machine,
    merge,
    read_measured,
    write_measured,
)
from fewfold.reproduce.published import (
    CLAIM_COLUMNS,
    COLUMNS,
    KEYS,
    REASON_COLUMNS,
    ROLE_COLUMNS,
    check_key,
    data_folder,
    find_reason,
    read_reasons,
    role_of,
)
from fewfold.system.location import project_root

NO_REASONS = pd.DataFrame(columns=REASON_COLUMNS)


def row(**changes):
    base = dict.fromkeys(COLUMNS, "")
    base |= {"paper": "mbed", "where": "Table 2", "dataset": "g50c", "method": "Mbed"}
    base |= {"n_labels": "50", "value": "5.32", "unit": "%", "source": "text"}
    base |= {"our_dataset": "g50c", "our_method": "mbed", "our_n_labels": "50"}
    return base | {"tuned_on_test": "no"} | changes


def published(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def measured(*rows):
    names = ["dataset", "method", "n_labeled", "metric", "mean", "sd", "trials", "fit_s"]
    return pd.DataFrame(rows, columns=names)


OURS = measured(("g50c", "mbed", 50, "error", 0.054, 0.005, 10, 1.5))


def test_tolerance_is_two_sd_or_ten_per_cent_or_the_rounding():
    assert tolerance("4.13", "0.20") == pytest.approx(0.4)
    assert tolerance("5.32") == pytest.approx(0.532)
    assert tolerance("0") == 0.5
    assert tolerance("0.02", "0.001") == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("value", "word"), [(4.4, "missed"), (4.3, "matched"), (3.7, "matched"), (3.6, "beaten")]
)
def test_status_by_side(value, word):
    assert status(value, 4.0, 0.3) == word
    mirrored = {"missed": "beaten", "beaten": "missed", "matched": "matched"}[word]
    assert status(value, 4.0, 0.3, higher_is_better=True) == mirrored


def test_a_failed_cell_is_missed():
    assert status(math.nan, 4.0, 0.3) == "missed"


def test_units_are_converted():
    assert lookup(OURS, "g50c", "mbed", "50", "%")["mean"] == pytest.approx(5.4)
    assert lookup(OURS, "g50c", "mbed", "50", "fraction")["sd"] == pytest.approx(0.005)
    assert lookup(OURS, "g50c", "mbed", "50", "% correct")["mean"] == pytest.approx(94.6)
    assert lookup(OURS, "g50c", "mbed", "50", "s")["mean"] == 1.5
    assert lookup(OURS, "g50c", "mbed", "50", "mse") is None
    assert lookup(OURS, "g50c", "mbed", "100", "%") is None


def test_accuracy_and_error_give_the_same_verdict():
    same = {"spread": "0.03"}
    table = compare(
        published(row(**same), row(**same, value="94.68", unit="% correct", dataset="b")),
        OURS,
        NO_REASONS,
    )
    assert list(table["status"]) == ["missed", "missed"]


def test_every_row_is_kept_and_says_why():
    reasons = pd.DataFrame([["mbed", "*", "g10n", "*", "*", "no clusters"]], columns=REASON_COLUMNS)
    ours = measured(
        ("g50c", "mbed", 50, "error", 0.02, 0.001, 10, 1.0),
        ("g10n", "mbed", 50, "error", 0.50, 0.01, 10, 1.0),
    )
    rows = published(
        row(),
        row(dataset="g10n", our_dataset="g10n", value="38.30"),
        row(dataset="text", our_dataset="text"),
        row(method="LDS", our_dataset="", our_method="", our_n_labels=""),
        row(unit="s", value="3"),
        row(value="", source="drawn", where="Fig. 3"),
    )
    table = compare(rows, ours, reasons)
    assert list(table["status"]) == [
        "beaten", "missed", "not run", "published only", "shown only", "no value",
    ]  # fmt: skip
    assert table["reason"][1] == "no clusters"
    assert set(compare(rows, None, reasons)["status"]) == {"not run", "published only"}


def test_a_missed_cell_without_reason_says_so():
    table = compare(published(row(value="2.0")), OURS, NO_REASONS)
    assert table["status"][0] == "missed" and table["reason"][0] == "not explained yet"


def claim(**changes):
    base = dict.fromkeys(CLAIM_COLUMNS, "")
    base |= {"paper": "mbed", "claim": "less than half", "sharpest": "yes", "unit": "%"}
    base |= {"left_dataset": "g50c", "left_method": "mbed", "left_n": "50"}
    return pd.DataFrame([base | {"relation": "below", "right_value": "6.0"} | changes])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "matched"),
        ({"right_value": "5.4"}, "missed"),
        ({"right_value": "5.4", "relation": "at most"}, "matched"),
        ({"right_value": "6.0", "factor": "0.5"}, "missed"),
        ({"right_value": "4.5", "plus": "1"}, "matched"),
        ({"right_value": "", "right_dataset": "g50c", "right_method": "tsvm", "right_n": "50"},
         "not run"),
    ],
)  # fmt: skip
def test_claims(changes, word):
    assert judge_claims(claim(**changes), OURS, NO_REASONS)["status"][0] == word


def test_counts_leave_out_what_was_not_compared():
    c = count(["beaten", "matched", "matched", "missed", "not run", "published only"])
    assert (c["compared"], c["share"], c["not run"]) == (4, 0.75, 1)
    assert math.isnan(count(["not run"])["share"])


def test_numbers_and_statements_are_counted_apart():
    roles = pd.DataFrame(
        [["mbed", "mbed_published", "published"], ["mbed", "mbed*", "ours"]], columns=ROLE_COLUMNS
    )
    ours = measured(
        ("g50c", "mbed", 50, "error", 0.02, 0.001, 10, 1.0),
        ("g50c", "mbed_published", 50, "error", 0.09, 0.001, 10, 1.0),
        ("g50c", "kmeans", 50, "error", 0.053, 0.001, 10, 1.0),
    )
    rows = published(
        row(), row(our_method="mbed_published", method="b"), row(our_method="kmeans", method="c")
    )
    statements = judge_claims(claim(), ours, NO_REASONS)
    found = tally(compare(rows, ours, NO_REASONS), statements, roles)
    assert {key: (c["compared"], c["missed"]) for key, c in found.items()} == {
        ("numbers", "published"): (1, 1), ("numbers", "ours"): (1, 0),
        ("numbers", "rival"): (1, 0), ("statements", "published"): (0, 0),
        ("statements", "ours"): (1, 0), ("statements", "rival"): (0, 0),
    }  # fmt: skip


def test_a_description_may_be_off_to_either_side():
    rows = published(row(unit="charts", value="835", our_method="charts:m", our_n_labels="0"))
    for count_, word in ((829, "matched"), (500, "missed"), (1200, "missed")):
        ours = measured(("g50c", "charts:m", 0, "charts", count_, math.nan, 1, math.nan))
        assert list(compare(rows, ours, NO_REASONS)["status"]) == [word]


def test_committed_roles_name_every_papers_own_method():
    roles = check_roles(data_folder("published") / "roles.csv")
    assert role_of(roles, "atlas", "published_rbf_mnist") == "published"
    assert role_of(roles, "atlas", "atlas_rbf") == "ours"
    assert role_of(roles, "atlas", "svm_rbf") == "rival"
    assert {row["paper"] for row in roles.to_dict("records")} == set(KEYS)


def test_a_bad_role_is_named(tmp_path):
    (tmp_path / "roles.csv").write_text("paper,our_method,role\nmbed,m,best\n")
    with pytest.raises(InputError, match="line 2: paper 'mbed', role 'best'; roles are published"):
        check_roles(tmp_path / "roles.csv")


def write_cost(path, seconds, cpu):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\tcpu_s\tmax_rss_mb\n{seconds}\t{cpu}\t100\n")


def test_costs_of_a_run(tmp_path):
    for name, cpu in {"a/fetch_dataset": 1, "a/graphs/g/search_neighbors_0": 2,
                      "a/graphs/g/search_neighbors_1": 5, "a/methods/m/train_method_0_10": 10,
                      "a/methods/m/train_method_10_20": 20, "b/fetch_dataset": 3,
                      "old/fetch_dataset": 99, "collect_metrics": 4}.items():  # fmt: skip
        write_cost(tmp_path / f"{name}.cost.tsv", cpu, cpu)
    costs = costs_of(tmp_path, {"a", "b"})
    assert costs["cpu_s"].sum() == 45
    # the slowest job of each stage of a (1 + 5 + 20), then the tables
    assert longest_chain(costs) == 30
    assert time_on(1, 45, 30) == 45 and time_on(10**9, 45, 30) == pytest.approx(30)
    stages = by_stage(costs).set_index("method")
    assert (
        stages.loc["train_method:m", "mean"] == 30 and stages.loc["train_method:m", "trials"] == 2
    )
    assert stages.loc["search_neighbors:g", "mean"] == 7


def make_run(folder, finished=True):
    rows = [["d", "m", 10, t, 0, "transductive", "error", e, 0.5, 0, "ok"]
            for t, e in enumerate((0.1, 0.3))]  # fmt: skip
    names = "dataset method n_labeled trial seed protocol metric value fit_s predict_s status"
    frame = pd.DataFrame(rows, columns=names.split())
    part = folder / "results/d/methods/m/trials_0_2.csv"
    part.parent.mkdir(parents=True)
    frame.to_csv(part, index=False)
    if finished:
        frame.to_csv(folder / "results/metrics.csv", index=False)
    write_cost(folder / "logs/d/methods/m/train_method_0_2.cost.tsv", 2, 3)


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_becomes_a_measured_table(tmp_path, finished):
    make_run(tmp_path, finished)
    table = collect(tmp_path)
    known = facts("mbed", tmp_path, table, 7)
    write_measured(tmp_path / "mbed.csv", table, known)
    again, read = read_measured(tmp_path / "mbed.csv")
    pd.testing.assert_frame_equal(table, again)
    assert list(read) == FACTS and read["seed"] == "7" and read["draws"] == "2"
    assert read["complete"] == ("yes" if finished else "no") and read["cpu_s"] == "3"
    found = lookup(again, "d", "m", "10", "%")
    assert found["mean"] == pytest.approx(20) and found["trials"] == 2
    assert lookup(again, "d", "train_method:m", "10", "s")["mean"] == 3


def test_charts_of_a_run_are_counted(tmp_path):
    from fewfold.methods.atlas.fitting import fit_atlas
    from fewfold.pipeline.artifacts import writing
    from fewfold.reproduce.charts import chart_counts

    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) + 9 * np.repeat(np.eye(3), 30, axis=0)
    y = np.repeat([0, 1, 1], 30)
    y[:2] = 1  # two of a blob are of the other class
    atlas = fit_atlas(X, {"n_dims": 2, "mdl": 5.0})
    folder = tmp_path / "d/manifolds"
    folder.mkdir(parents=True)
    a_map = {"embedding": X, "n_neighbors": np.int64(5)}
    for name, kind, arrays in (("m", "atlas", atlas), ("map", "embedding", a_map)):
        with writing(folder / f"{name}.h5", "fit_manifold") as out:
            for key, value in arrays.items():
                out.add(key, value)
            out.note("kind", kind)
    with writing(tmp_path / "d/labels.h5", "prepare_labels") as out:
        out.add("y", y)
        out.add("classes", ["a", "b"])
        out.note("task", "classification")
    found = chart_counts(tmp_path, {"d"})
    values = dict(zip(found["method"], found["mean"]))
    charts = atlas["interior"]
    most = [np.bincount(y[charts == c]).max() for c in np.unique(charts)]
    shares = np.array(most) / np.bincount(charts)
    assert len(shares) > 1
    assert values == {
        "charts:m": len(shares),
        "one_class:m": sum(s == 1 for s in shares),
        "mixed:m": sum(s < 0.9 for s in shares),
        "purity:m": pytest.approx(np.median(shares)),
        "impure:m": pytest.approx(1 - sum(most) / 90),
    }


def test_rows_that_were_not_measured_again_keep_their_commit(tmp_path):
    make_run(tmp_path)
    now = collect(tmp_path)
    before = now.assign(commit="old")
    extra = before[before["method"] == "m"].assign(method="n")
    stale = before[before["method"] == "m"].assign(method="gone")
    config = {"run": {"datasets": ["d"], "methods": ["m", "n"]}}
    joined = merge(pd.concat([before, extra, stale]), now, config)
    assert sorted(joined["method"]) == ["m", "n", "train_method:m"]
    commits = dict(zip(joined["method"], joined["commit"]))
    assert commits["n"] == "old" and commits["m"] == now["commit"][0] != "old"
    assert facts("mbed", tmp_path, joined, 7)["cpu_s"] == 3


def test_a_file_without_commits_of_rows_has_that_of_the_file(tmp_path):
    make_run(tmp_path)
    table = collect(tmp_path)
    known = facts("mbed", tmp_path, table, 7) | {"commit": "abc; m: def"}
    write_measured(tmp_path / "mbed.csv", table.drop(columns="commit"), known)
    assert set(read_measured(tmp_path / "mbed.csv")[0]["commit"]) == {"abc"}


def test_parts_of_a_paper_are_checked():
    config = {"run": {"datasets": ["a", "b"], "methods": ["m"], "trials": 2}}
    assert overrides(config) == {}
    assert overrides(config, 5, ["a"], ["m"]) == {
        "run": {"trials": 5, "datasets": ["a"], "methods": ["m"]}
    }
    with pytest.raises(ConfigError, match="--methods x: this part has no such entry"):
        overrides(config, methods=["x"])


def test_all_papers_say_their_time_first_and_one_that_fails_stops_no_other(tmp_path):
    said = []
    with pytest.raises(RunFailed, match="Not finished: atlas, eigenbasis, mbed"):
        reproduce_all(cores=1, table_only=True, out=tmp_path, echo=said.append)
    assert said[0].startswith("part") and said[len(KEYS) + 1].startswith("all ")
    assert [line for line in said if line.startswith("--- ")] == [f"--- {key}" for key in KEYS]


def test_no_run_is_one_clear_error(tmp_path):
    with pytest.raises(InputError, match="has not been run"):
        collect(tmp_path)


def test_a_measured_file_without_facts_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("dataset,method\n")
    with pytest.raises(InputError, match="lack key"):
        read_measured(tmp_path / "a.csv")


def test_machine_is_not_named():
    import platform

    assert "cores of" in machine()
    assert not platform.node() or platform.node() not in machine()


def test_commit_at_a_moment():
    assert commit_at(datetime(1990, 1, 1, tzinfo=UTC)) == "unknown"


def test_trials_also_where_datasets_have_their_own():
    config = {
        "run": {"trials": 10, "draw": "random"},
        "datasets": {"a": {}, "b": {"trials": 3}, "c": {"draw": "given"}},
    }
    changed = with_trials(config, 50)
    assert changed == {
        "run": {"trials": 50},
        "datasets": {"b": {"trials": 50}, "c": {"trials": 10}},
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": "guess"}, "source 'guess'"),
        ({"value": "5,32"}, "not a number"),
        ({"value": ""}, "value is missing"),
        ({"our_method": ""}, "all three, or none"),
        ({"unit": "points"}, "no counterpart"),
        ({"our_n_labels": "few"}, "whole number"),
        ({"tuned_on_test": ""}, "tuned_on_test"),
    ],
)
def test_bad_published_rows_are_named(tmp_path, changes, words):
    published(row(), row(dataset="b", **changes)).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(InputError, match=rf"p.csv, line 3: .*{words}"):
        check_published(tmp_path / "p.csv")


def test_a_cell_given_twice_is_refused(tmp_path):
    published(row(), row(value="6")).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(InputError, match="line 3: this cell stands there twice"):
        check_published(tmp_path / "p.csv")


def test_bad_claims_are_named(tmp_path):
    claim(relation="about").to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(InputError, match="line 2: relation 'about'"):
        check_claims(tmp_path / "c.csv")


def test_committed_files_are_valid_and_fit_the_configs():
    import yaml

    folder = data_folder("published")
    claims = check_claims(folder / "claims.csv")
    reasons = read_reasons(folder / "reasons.csv")
    for key in KEYS:
        table = check_published(folder / f"{key}.csv")
        assert set(table["paper"]) == {key}
        config = project_root() / f"config/reproduce/{key}.yaml"
        if config.exists():
            known = yaml.safe_load(config.read_text())
            used = table[table["our_method"] != ""]
            own = claims[claims["paper"] == key]
            methods = {*used["our_method"], *own["left_method"], *own["right_method"]} - {""}
            methods = {m for m in methods if ":" not in m}
            assert methods <= set(known["run"]["methods"])
            _check_cells(known, used, own, reasons)


def _check_cells(config, used, own, reasons):
    """A run of the config gives every cell, or a reason says why not."""
    for row in used[~used["our_method"].str.contains(":")].to_dict("records"):
        fields = {name: row[name] for name in ("paper", "where", "dataset", "method", "n_labels")}
        cell = row["our_dataset"], row["our_method"], row["our_n_labels"]
        assert _runs(config, *cell) or find_reason(reasons, **fields), f"left out silently: {cell}"
    for side in ("left", "right"):
        for cell in zip(*(own[f"{side}_{part}"] for part in ("dataset", "method", "n"))):
            assert not cell[1] or _runs(config, *cell), f"a statement about {cell} is not run"


def _runs(config, dataset, method, n_labels):
    entry = config["datasets"].get(dataset)
    if entry is None or dataset not in config["run"]["datasets"] or method in entry.get("skip", {}):
        return False
    budgets = entry.get("labels", config["run"].get("labels"))
    return budgets in (None, [1.0]) or int(n_labels) in budgets


def test_unknown_key():
    with pytest.raises(ConfigError, match="nothing: there is no such part. Choose one of atlas"):
        check_key("nothing")


def test_cells_in_words():
    one = {"value": "", "spread": "", "measured": 3.456, "measured_sd": math.nan}
    assert cell(one | {"status": "no value"}) == "? → **3.46**"
    assert cell(one | {"status": "published only", "value": "2"}) == "2"
    assert cell(one | {"status": "not run", "value": "2"}) == "2 → not run"
    assert digits(math.nan) == "–"


def test_table_layouts():
    rows = published(row(), row(dataset="text", our_dataset="text"), row(method="LDS"))
    text = paper_table(compare(rows, None, NO_REASONS))
    assert text.splitlines()[0] == "|  | g50c | text |"
    assert [line.split("|")[1].strip() for line in text.splitlines()[2:]] == ["Mbed", "LDS"]
    rows = published(row(), row(n_labels="100"))
    assert paper_table(compare(rows, None, NO_REASONS)).startswith("|  | 50 labels | 100 labels |")


def test_figures_are_whole_svg_files():
    import xml.etree.ElementTree as ET

    table = measured(
        ("d", "m", 10, "error", 0.2, 0.1, 5, 0), ("d", "m", 100, "error", 0.1, math.nan, 5, 0)
    )
    lines = series(table, [("ours", "d", "m"), ("absent", "d", "x")])
    assert [s.name for s in lines] == ["ours"] and list(lines[0].mean) == [20, 10]
    drawn = ET.fromstring(sheet([("a & b", lines, "error")], "label"))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert "a & b" in {e.text for e in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert sheet([("none", [], "error")], "label") == ""


def test_the_committed_page_is_what_the_files_give():
    docs = project_root() / "docs"
    for name, text in write_page(load()).items():
        assert (docs / name).read_text(encoding="utf-8") == text, (
            f"docs/{name} is out of date: run 'make reproduction-docs'"
        )


def fewfold(*words):
    return subprocess.run(
        [sys.executable, "-m", "fewfold.cli", *words], capture_output=True, text=True, check=False
    )


def test_command_lists_the_parts():
    done = fewfold("reproduce")
    assert done.returncode == 0 and all(key in done.stdout for key in KEYS)


def test_command_refuses_an_unknown_part():
    done = fewfold("reproduce", "nothing")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: reproduce nothing: there is no such part.")
