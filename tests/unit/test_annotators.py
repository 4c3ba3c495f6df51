"""Several annotators: Dawid-Skene against loops written from the paper, and tools' exports."""

import json

import numpy as np
import pandas as pd
import pytest

from fewfold.datasets.annotators import SMOOTHING, combine_annotators, dawid_skene
from fewfold.exceptions import InputError
from fewfold.labeling.intake import read_input


def simulated(n=300, skills=(0.95, 0.9, 0.55, 0.3), seed=0, missing=0.2):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    votes = np.empty((n, len(skills)), int)
    for a, skill in enumerate(skills):
        wrong = (truth + rng.integers(1, 3, n)) % 3
        votes[:, a] = np.where(rng.random(n) < skill, truth, wrong)
    votes[rng.random(votes.shape) < missing] = -1
    return truth, votes


def by_loops(votes, n_classes, iterations):
    """Dawid and Skene (1979), equations 2.3 to 2.5, one number at a time."""
    n, m = votes.shape
    belief = [[sum(v == k for v in row) / max(sum(v >= 0 for v in row), 1)
               for k in range(n_classes)] for row in votes.tolist()]  # fmt: skip
    voted = [i for i in range(n) if (votes[i] >= 0).any()]
    for _ in range(iterations):
        prior = [sum(belief[i][k] for i in voted) / len(voted) for k in range(n_classes)]
        table = np.empty((m, n_classes, n_classes))
        for a in range(m):
            for k in range(n_classes):
                for j in range(n_classes):
                    table[a, k, j] = SMOOTHING + sum(
                        belief[i][k] for i in voted if votes[i, a] == j
                    )
                table[a, k] /= table[a, k].sum()
        for i in voted:
            joint = []
            for k in range(n_classes):
                p = prior[k]
                for a in range(m):
                    if votes[i, a] >= 0:
                        p *= table[a, k, votes[i, a]]
                joint.append(p)
            belief[i] = [p / sum(joint) for p in joint]
    return np.array(belief), table


def test_dawid_skene_is_what_loops_give():
    _, votes = simulated(60)
    votes[5] = -1
    found, tables = dawid_skene(votes, 3)
    belief, expected = by_loops(votes, 3, 200)
    voted = (votes >= 0).any(axis=1)
    assert np.allclose(found[voted], belief[voted], atol=1e-5)
    assert np.allclose(tables, expected, atol=1e-4) and np.allclose(found[5], 1 / 3)


def test_reliable_annotators_count_more_than_a_majority():
    truth, votes = simulated(600, missing=0.0)
    names = np.array(["a", "b", "c", ""], dtype=object)
    found = combine_annotators({f"p{a}": names[votes[:, a]] for a in range(4)})
    majority = np.array([np.bincount(row, minlength=3).argmax() for row in votes])
    right = np.mean(found.labels == names[truth])
    assert right > np.mean(majority == truth) + 0.02 and right > 0.93
    shares = list(found.reliability.values())
    assert np.allclose(shares, (0.95, 0.9, 0.55, 0.3), atol=0.06)


def test_nobody_said_anything():
    found = combine_annotators({"a": ["", None], "b": ["", ""]})
    assert found.labels.tolist() == ["", ""] and found.confidence.tolist() == [0, 0]


def test_columns_of_annotators(tmp_path):
    frame = pd.DataFrame({"x": np.arange(8.0) ** 2, "anna": list("uuvvuuv") + [""],
                          "ben": list("uuvvuv") + ["", ""]})  # fmt: skip
    frame.to_csv(tmp_path / "my.csv", index=False)
    found = read_input(tmp_path / "my.csv", annotators=["anna", "ben"])
    assert found.classes == ["u", "v"] and len(found.labeled) == 7
    assert found.feature_names == ["x"]
    assert "2 annotators, who disagree on 1 row;" in " ".join(found.sentences)
    with pytest.raises(InputError, match="no annotators' column 'bne'.*'ben'"):
        read_input(tmp_path / "my.csv", annotators=["anna", "bne"])


def test_an_export_of_label_studio_with_several_annotators(tmp_path):
    def task(i, *said):
        result = [{"from_name": "kind", "to_name": "row", "type": "choices"}]
        return {
            "id": i,
            "data": {"width": i * 1.5, "height": (i * 7) % 5},
            "annotations": [
                {"completed_by": by, "result": [{**result[0], "value": {"choices": [label]}}]}
                for by, label in said
            ],
        }

    tasks = [task(i, (1, "uv"[i % 2]), (2, "uv"[i % 2])) for i in range(12)]
    tasks += [task(20, (1, "u")), task(21), {**task(22, (1, "v")), "annotations": [
        {"was_cancelled": True, "result": []}]}]  # fmt: skip
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    found = read_input(tmp_path / "export.json", "label")
    assert found.classes == ["u", "v"] and len(found.labeled) == 13
    said = " ".join(found.sentences)
    assert "An export of Label Studio" in said and "annotator 1: " in said


def test_an_export_of_prodigy(tmp_path):
    rows = [{"text": f"the bark of tree {i} is {'rough' if i % 2 else 'smooth and pale'}",
             "options": [{"id": "oak"}, {"id": "ash"}], "accept": ["oak" if i % 2 else "ash"],
             "answer": "accept" if i < 20 else "ignore"} for i in range(30)]  # fmt: skip
    (tmp_path / "out.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = read_input(tmp_path / "out.jsonl", "label")
    assert found.classes == ["ash", "oak"] and len(found.labeled) == 20
    assert [c["kind"] for c in found.plan.columns] == ["text"]
