"""Dawid-Skene beside crowd-kit's, which is installed into a folder of its own for this test."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from fewfold.datasets.annotators import dawid_skene

PEER = """
import json, sys
import pandas as pd
from crowdkit.aggregation import DawidSkene
votes = json.load(sys.stdin)
rows = [(t, w, v) for t, row in enumerate(votes) for w, v in enumerate(row) if v >= 0]
model = DawidSkene(n_iter=500, tol=0).fit(pd.DataFrame(rows, columns=["task", "worker", "label"]))
print(json.dumps(model.probas_.sort_index().sort_index(axis=1).to_numpy().tolist()))
"""


@pytest.fixture(scope="module")
def crowd_kit(tmp_path_factory):
    """A folder with crowd-kit; what else it needs for this is among our own packages."""
    folder = tmp_path_factory.mktemp("peers")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, "crowd-kit==1.4.2", "nltk", "regex"], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("seed", range(4))
def test_dawid_skene_is_crowd_kits(crowd_kit, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 300)
    skills = np.array([0.95, 0.85, 0.7, 0.55, 0.4])
    wrong = (truth[:, None] + rng.integers(1, 3, (300, 5))) % 3
    votes = np.where(rng.random((300, 5)) < skills, truth[:, None], wrong)
    votes[rng.random(votes.shape) < 0.3] = -1
    votes[(votes < 0).all(axis=1), 0] = 0  # crowd-kit knows no row without a label
    done = subprocess.run(
        [sys.executable, "-c", PEER], input=json.dumps(votes.tolist()), text=True, check=True,
        capture_output=True, env={**os.environ, "PYTHONPATH": str(crowd_kit)},
    )  # fmt: skip
    theirs, (ours, _) = np.array(json.loads(done.stdout)), dawid_skene(votes, 3)
    assert (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean() > 0.99
    assert np.abs(ours - theirs).mean() < 0.005
