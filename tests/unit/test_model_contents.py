"""Model files with other contents and a right seal: refused in a sentence, or used as they are."""

import random
import shutil

import h5py
import numpy as np
import pytest
from _labeling_material import saved

from _mutations import mutate_array, mutate_json
from _resealed import change_file
from fewfold.exceptions import ArtifactError, FewfoldError, InputError
from fewfold.labeling.model_file import Model
from fewfold.labeling.prediction import predict
from fewfold.pipeline import artifacts
from fewfold.pipeline.layout import MODEL_FILE

MODELS = {
    "graphs": ("diffusion", "eigenbasis", "metric_svm"),
    "rows": ("extra_trees", "knn", "logistic_1"),
    "kernels": ("clusters_2", "low_density", "rbf_tsvm"),
}


def contents(path):
    with artifacts.read(path, MODEL_FILE) as file:
        arrays = {name: file[name] for name in file.names()}
        notes = {k[5:]: file.note(k[5:]) for k in file._attrs if k.startswith("note:")}
    return arrays, notes


@pytest.mark.parametrize("names", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_numbers(tmp_path, names, bad):
    _, _, path = saved(tmp_path, names)
    arrays, _ = contents(path)
    floats = [k for k, v in arrays.items() if getattr(v, "dtype", None) is not None
              and v.dtype.kind == "f" and v.size]  # fmt: skip
    assert floats
    for name in floats:
        other = tmp_path / "changed.h5"
        shutil.copy(path, other)
        value = arrays[name].copy()
        value.reshape(-1)[-1] = bad
        change_file(other, arrays={name: value})
        with pytest.raises(ArtifactError, match=f"{name} holds numbers that are not finite"):
            Model.load(other)


@pytest.mark.parametrize("names", MODELS.values(), ids=MODELS)
def test_structural_changes(tmp_path, names):
    task, _, path = saved(tmp_path, names)
    rng, outcomes = random.Random(1), {"used": 0, "refused": 0}
    arrays, notes = contents(path)
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
            said = Model.load(other).predict(task.X[:4])
            assert np.isfinite(said["confidence"]).all() and (said["label"] < 3).all()
            outcomes["used"] += 1
        except FewfoldError:
            outcomes["refused"] += 1
    assert outcomes["refused"] > 10


def change_member(path, place=0, **changes):
    _, notes = contents(path)
    notes["members"][place] |= changes
    change_file(path, notes={"members": notes["members"]})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "no such"}, "'no such', which is not installed"),
        ({"method": "ridge"}, "ridge does not do classification"),
        ({"method": "trees"}, "does not fit"),  # the state of another method
        ({"weight": 2.0}, "does not fit"),
        ({"weight": 0.1}, "weights of its members sum to"),
        ({"arrays": {}}, "unknown arrays"),
        ({"notes": {}}, "does not fit|cannot label"),
        ({"exponent": 0}, "does not fit"),
    ],
)
def test_members_are_looked_up_and_checked(tmp_path, changes, words):
    task, _, path = saved(tmp_path)
    change_member(path, **changes)
    with pytest.raises(FewfoldError, match=words):
        Model.load(path).predict(task.X[:3])


def test_classes_of_another_file_are_refused(tmp_path):
    _, _, path = saved(tmp_path)
    change_file(path, arrays={"classes": ["a", "b"]})
    with pytest.raises(ArtifactError, match="classes|shares"):
        Model.load(path)


def test_swapped_arguments_are_noticed_and_nothing_is_to_be_deleted(tmp_path):
    _, _, path = saved(tmp_path)
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
