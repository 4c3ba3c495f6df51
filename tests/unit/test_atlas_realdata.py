"""The atlas on real data: SEMEION."""

import numpy as np
import pytest
from sklearn.svm import SVC

from fewfold.methods.atlas.encoding import encode, take_rows
from fewfold.methods.atlas.estimator import AtlasSVC
from fewfold.methods.atlas.fitting import fit_atlas

pytestmark = pytest.mark.realdata


def test_semeion_soft_below_hard_and_below_a_global_kernel():
    from fewfold.datasets import load

    data = load("semeion")
    X, y = data.X, data.y
    atlas = fit_atlas(X)
    code = encode(X, atlas, rows=np.arange(len(y)))
    errors = {"soft": [], "hard": [], "global": []}
    for seed in range(3):
        order = np.random.default_rng([1, seed]).permutation(len(y))
        train, test = order[:796], order[796:]
        for assignment in ("soft", "hard"):
            model = AtlasSVC(assignment=assignment)
            model.atlas_ = atlas
            model.fit_code(code, train, y[train])
            guess = model.shares(take_rows(code, test)).argmax(axis=1)
            errors[assignment].append(np.mean(guess != y[test]))
        machine = SVC(C=10, gamma=1 / (X.shape[1] * X.var())).fit(X[train], y[train])
        errors["global"].append(np.mean(machine.predict(X[test]) != y[test]))
    soft, hard, usual = (np.mean(errors[name]) for name in ("soft", "hard", "global"))
    assert soft < 0.06 and soft < usual and soft < hard - 0.01
