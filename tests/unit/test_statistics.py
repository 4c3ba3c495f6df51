"""Summaries and comparisons against scipy and by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fewfold.pipeline import statistics
from fewfold.pipeline.result_tables import COLUMNS
from fewfold.pipeline.statistics import holm, interval, paired_p_value


def summarize(metrics):
    rows = statistics.summarize(metrics.to_dict("records"))
    return pd.DataFrame(rows, columns=list(COLUMNS["summary"]))


def compare(metrics):
    rows = statistics.compare(metrics.to_dict("records"))
    return pd.DataFrame(rows, columns=list(COLUMNS["comparisons"]))


def table(values, n_labeled=5):
    """A metrics table from {method: values over trials}."""
    return pd.DataFrame(
        [
            dict(dataset="d", method=m, n_labeled=n_labeled, trial=t, seed=0, protocol="p",
                 metric="error", value=v, fit_s=0.0, predict_s=0.0,
                 status="ok" if not np.isnan(v) else "broke")
            for m, column in values.items()
            for t, v in enumerate(column)
        ]
    )  # fmt: skip


def test_interval_is_students():
    values = np.array([1.0, 2.0, 4.0])
    expected = stats.t.interval(0.95, 2, loc=values.mean(), scale=stats.sem(values))
    assert interval(values) == pytest.approx(expected)
    # By hand: t(0.975, 1) = 12.7062 and s / sqrt(2) = 0.5 for two values one apart.
    assert interval([0.0, 1.0]) == pytest.approx(
        (0.5 - 12.7062 * 0.5, 0.5 + 12.7062 * 0.5), rel=1e-4
    )
    assert interval([3.0, 3.0]) == (3.0, 3.0)
    assert np.isnan(interval([1.0])).all() and np.isnan(interval([])).all()


def test_the_interval_of_an_error_stays_between_0_and_1():
    found = summarize(table({"low": [0.0, 0.02], "high": [0.9, 1.0], "mid": [0.5, 0.5001]}, 5))
    ends = found.set_index("method")[["low", "high"]]
    assert ends.loc["low", "low"] == 0 and ends.loc["high", "high"] == 1
    assert 0 < ends.loc["mid", "low"] < 0.5 and 0.5 < ends.loc["mid", "high"] < 1


def test_the_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = [low < 0 < high for low, high in (interval(rng.normal(size=5)) for _ in range(2000))]
    assert abs(np.mean(hits) - 0.95) < 0.02


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == [] and holm([0.2]).tolist() == [0.2]
    p = np.random.default_rng(0).random(20)
    adjusted = holm(p)
    assert (adjusted >= p).all() and (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


def test_paired_p_value():
    a, b = [0.1, 0.2, 0.15, 0.3], [0.2, 0.25, 0.3, 0.35]
    assert paired_p_value(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert paired_p_value(a, a) == 1.0
    assert paired_p_value([1, 2, 3], [2, 3, 4]) == 0.0
    assert np.isnan(paired_p_value([1.0], [2.0])) and np.isnan(paired_p_value([], []))


def test_summary():
    summary = summarize(table({"a": [0.2, 0.21], "b": [0.5, np.nan], "c": [np.nan, np.nan]}))
    assert summary["method"].tolist() == ["a", "b", "c"]
    row = summary.iloc[0]
    assert (row["mean"], row["trials"], row["failed"]) == (pytest.approx(0.205), 2, 0)
    assert row["sd"] == pytest.approx(np.std([0.2, 0.21], ddof=1))
    assert (row["low"], row["high"]) == pytest.approx(interval([0.2, 0.21]))
    one, none = summary.iloc[1], summary.iloc[2]
    assert one["mean"] == 0.5 and np.isnan(one["sd"]) and one["failed"] == 1
    assert np.isnan(none["mean"]) and none["trials"] == 0 and none["failed"] == 2
    assert len(summarize(table({"a": []}).reindex(columns=table({"a": [0.1]}).columns))) == 0


def test_compare_pairs_trials_and_corrects_within_a_family():
    values = {"a": [0.1, 0.2, 0.15], "b": [0.3, 0.35, 0.5], "c": [0.2, 0.1, 0.3]}
    both = pd.concat([table(values), table({"a": [0.1, 0.1], "b": [0.2, 0.3]}, n_labeled=9)])
    found = compare(both)
    assert found[["method_a", "method_b"]].to_numpy().tolist() == [
        ["a", "b"], ["a", "c"], ["b", "c"], ["a", "b"],
    ]  # fmt: skip
    first = found.iloc[0]
    assert first["difference"] == pytest.approx(np.mean(values["a"]) - np.mean(values["b"]))
    assert first["p_value"] == pytest.approx(stats.ttest_rel(values["a"], values["b"]).pvalue)
    family = found[found["n_labeled"] == 5]
    np.testing.assert_allclose(family["p_adjusted"], holm(family["p_value"]))
    assert found.iloc[3]["p_adjusted"] == found.iloc[3]["p_value"]


def test_compare_uses_only_shared_trials():
    found = compare(table({"a": [0.1, np.nan, 0.3], "b": [0.2, 0.3, np.nan]})).iloc[0]
    assert found["trials"] == 1 and found["difference"] == pytest.approx(-0.1)
    assert np.isnan(found["p_value"]) and np.isnan(found["p_adjusted"])


def test_one_method_and_failed_methods_have_no_comparison():
    columns = ["dataset", "n_labeled", "protocol", "metric", "method_a", "method_b", "trials",
               "difference", "p_value", "p_adjusted"]  # fmt: skip
    alone = compare(table({"a": [0.1, 0.2]}))
    assert len(alone) == 0 and list(alone.columns) == columns
    # A method that failed in all trials has no value to compare.
    assert len(compare(table({"a": [0.1, 0.2], "b": [np.nan, np.nan]}))) <= 1
