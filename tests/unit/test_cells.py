"""Batches of cells: what learners are given, how failures are told, how results are scored."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewfold.exceptions import ConvergenceError
from fewfold.pipeline.cells import confidence, failed_outcome, run_cells, score
from fewfold.pipeline.protocol import derive_seed
from fewfold.pipeline.result_tables import COLUMNS
from fewfold.pipeline.stage_files import Splits
from fewfold.pipeline.training import Inputs, Outcome

ORDER = np.array([[0, 3, 4], [5, 1, 2]])
SPLITS = Splits(ORDER, [1, 3], "unlabeled", "transductive", 7)
Y = np.array([0, 1, 1, 0, 1, 0])
X = np.zeros((6, 2))


def labels(**changes):
    given = dict(y=Y, y_new=None, task="classification", test_mask=None) | changes
    return SimpleNamespace(**given)


def test_a_learner_is_given_its_draw_and_nothing_else():
    seen = []

    def learner(inputs, labeled, targets, *, n_classes, seed, settings):
        seen.append((labeled.tolist(), targets.tolist(), seed))
        assert n_classes == 2 and settings == {"a": 1} and not hasattr(inputs, "y")
        return Outcome(np.zeros(6, int))

    counted = []
    cells = list(run_cells(learner, Inputs(X=X), Y, SPLITS, [0, 1], n_classes=2,
                           settings={"a": 1}, progress=counted.append))  # fmt: skip
    assert [(c[0], c[1]) for c in cells] == [(0, 1), (0, 3), (1, 1), (1, 3)]
    assert [s[0] for s in seen] == [[0], [0, 3, 4], [5], [5, 1, 2]]
    assert [s[1] for s in seen] == [[0], [0, 0, 1], [0], [0, 1, 1]]
    assert [c[2] for c in cells] == [derive_seed(7, t, b) for t in (0, 1) for b in (1, 3)]
    assert sum(counted) == 4 and all(c[4] >= 0 for c in cells)


def test_batches_give_what_one_run_gives():
    def learner(inputs, labeled, targets, *, n_classes, seed, settings):
        return Outcome(np.full(6, seed % 1000))

    def seeds(trials):
        cells = run_cells(learner, Inputs(X=X), Y, SPLITS, trials, n_classes=2, settings={})
        return [(c[0], c[1], c[3].labels[0]) for c in cells]

    assert seeds([0, 1]) == seeds([0]) + seeds([1])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_failure_in_one_cell_is_its_status(task):
    def learner(inputs, labeled, targets, *, n_classes, seed, settings):
        if len(labeled) == 3:
            raise ConvergenceError("it did not end")
        return Outcome(np.zeros(6, int))

    inputs = Inputs(X=X, X_new=X[:2], task=task)
    cells = list(run_cells(learner, inputs, Y, SPLITS, [0], n_classes=2, settings={}))
    assert [c[3].status for c in cells] == ["ok", "it did not end"]
    failed = cells[1][3]
    unknown = np.isnan if task == "regression" else (lambda v: v == -1)
    assert unknown(failed.labels).all() and unknown(failed.labels_new).all()
    assert len(failed.labels_new) == 2
    assert failed_outcome(Inputs(X=X), "why").labels_new is None


def test_other_exceptions_stop_the_job():
    def learner(*_, **__):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(run_cells(learner, Inputs(X=X), Y, SPLITS, [0], n_classes=2, settings={}))


def test_scores():
    predicted = np.array([0, 0, 1, 0, 0, -1])
    # Trial 0 with one label: rows 1..5 count; wrong are 1, 4, 5.
    assert score(labels(), SPLITS, 0, 1, predicted, None) == ("error", pytest.approx(3 / 5))
    # With three labels (0, 3, 4): rows 1, 2, 5.
    assert score(labels(), SPLITS, 0, 3, predicted, None) == ("error", pytest.approx(2 / 3))
    tested = Splits(ORDER, [1, 3], "test", "transductive", 7)
    mask = np.array([0, 1, 1, 0, 0, 0], bool)
    assert score(labels(test_mask=mask), tested, 0, 3, predicted, None) == ("error", 0.5)


def test_inductive_scores_use_the_new_rows_with_known_truth():
    splits = Splits(ORDER, [1, 3], "unlabeled", "inductive", 7)
    truth = labels(y_new=np.array([0, 1, -1]))
    assert score(truth, splits, 0, 1, Y, np.array([0, 0, 0])) == ("error", 0.5)
    truth = labels(task="regression", y=Y * 1.0, y_new=np.array([1.0, np.nan]))
    assert score(truth, splits, 0, 1, Y * 1.0, np.array([3.0, 9.0])) == ("mse", 4.0)


def test_a_failed_regression_scores_nan():
    truth = labels(task="regression", y=Y * 1.0)
    name, value = score(truth, SPLITS, 0, 1, np.full(6, np.nan), None)
    assert name == "mse" and np.isnan(value)


def test_confidence():
    assert np.isnan(confidence(None, 3)).all() and len(confidence(None, 3)) == 3
    found = confidence(np.array([[0.2, 0.8], [0.6, 0.4]]), 2)
    assert found.dtype == np.float32 and found.tolist() == pytest.approx([0.8, 0.6])


def test_the_agreed_columns():
    assert list(COLUMNS["metrics"]) == [
        "dataset", "method", "n_labeled", "trial", "seed", "protocol", "metric", "value", "fit_s",
        "predict_s", "status",
    ]  # fmt: skip
