"""Model files with other contents and a right seal: refused in a sentence, or used as they are."""

import random
import shutil

import h5py
import numpy as np
import pytest
from _labelling_material import material

from _mutations import mutate_array, mutate_json
from _resealed import change_file
from fewfold.exceptions import ArtifactError, FewfoldError, InputError
from fewfold.labeling.finishing import write_model
from fewfold.labeling.model_file import Model
from fewfold.labeling.prediction import predict
from fewfold.pipeline import artifacts

# Arrays that only models with a graph have.
GRAPH_ARRAYS = [("diffusion", "values"), ("diffusion", "scales")]
LEARNERS = {"diffusion": {}, "knn": {"n_neighbors": 3}, "svm": {"C": 10.0, "gamma": 0.2}}


def saved(folder, learner="diffusion"):
    _, found = material()
    found.notes.update(learner=learner, details=LEARNERS[learner])
    found.files.update(dict.fromkeys(("features", "labels", "graph"), folder / "none.h5"))
    (folder / "none.h5").write_bytes(b"x")
    path = folder / f"{learner}.h5"
    write_model(found, path, {"diffusion": learner})
    return found, path


@pytest.mark.parametrize(
    ("learner", "name"), [*((learner, "X") for learner in LEARNERS), *GRAPH_ARRAYS]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_numbers_that_are_not_numbers(tmp_path, learner, name, bad):
    found, path = saved(tmp_path, learner)
    with h5py.File(path) as file:
        value = file[name][()]
    value.reshape(-1)[5] = bad
    change_file(path, arrays={name: value})
    if (name, bad) == ("scales", 1e30):
        Model.load(path).predict(found.features.X[:4])  # a scale may be large
        return
    with pytest.raises(ArtifactError, match=f"does not fit: {name} holds numbers that are not"):
        Model.load(path)


@pytest.mark.parametrize("learner", LEARNERS)
def test_structural_changes(tmp_path, learner):
    """162 changes per kind of model, of which 46 ended in a foreign exception before."""
    found, path = saved(tmp_path, learner)
    rng, outcomes = random.Random(1), {"used": 0, "refused": 0}
    with artifacts.read(path, "save_model") as file:
        arrays = {name: file[name] for name in file.names()}
        notes = {k[5:]: file.note(k[5:]) for k in file._attrs if k.startswith("note:")}
    for _ in range(54):
        other = tmp_path / "changed.h5"
        shutil.copy(path, other)
        if rng.random() < 0.6:
            name = rng.choice(sorted(notes))
            change_file(other, notes={name: mutate_json(notes[name], rng)})
        else:
            name = rng.choice(sorted(arrays))
            change_file(other, arrays={name: mutate_array(arrays[name], rng)})
        try:
            said = Model.load(other).predict(found.features.X[:4])
            assert np.isfinite(said["confidence"]).all() and (said["label"] < 3).all()
            outcomes["used"] += 1
        except FewfoldError:
            outcomes["refused"] += 1
    assert outcomes["refused"] > 10


def test_swapped_arguments_are_noticed_and_nothing_is_to_be_deleted(tmp_path):
    _, path = saved(tmp_path)
    table = tmp_path / "penguins.csv"
    table.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not a model file. Give the model first") as caught:
        predict(table, path)
    assert "elete" not in str(caught.value)
    foreign = tmp_path / "mine.h5"
    with h5py.File(foreign, "w") as file:
        file["X"] = np.eye(3)
    for wrong, words in ((foreign, "not one written by fewfold"), (path, "no such model")):
        if wrong is path:
            path.unlink()
        with pytest.raises(FewfoldError, match=words) as caught:
            predict(wrong, table)
        assert "elete" not in str(caught.value) and "Move" not in str(caught.value)
