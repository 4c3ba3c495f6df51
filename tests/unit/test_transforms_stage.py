"""The stage of transformed copies: what is written is what the transform makes."""

import numpy as np
import pytest

from fewfold.exceptions import ArtifactError, InputError
from fewfold.pipeline import copies_files as stage
from fewfold.pipeline.training import Inputs, fit_draw
from fewfold.transforms import virtual_samples
from fewfold.transforms.naming import names_in, transform_key, transform_or_default
from fewfold.transforms.symmetry import ring_symmetry

X = np.random.default_rng(0).random((40, 25)).astype(np.float32)


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "_BLOCK_BYTES", 4 * 24 * 25 * 3)  # three rows a batch
    order = np.random.default_rng(1).permutation(40)[:20].reshape(2, 10)
    rows = stage.rows_by_draw(order)
    stage.write_copies(tmp_path / "copies.h5", X, (5, 5), "rotation", rows, settings={})
    return tmp_path / "copies.h5", rows


def test_copies_are_read_back_for_any_rows_in_any_order(written):
    path, rows = written
    copies = stage.CopiesFile(path)
    np.testing.assert_array_equal(copies.rows, rows)
    for wanted in (rows[:4], np.sort(rows), rows[::-3]):
        np.testing.assert_array_equal(
            copies.of(wanted), virtual_samples(X[wanted], (5, 5), "rotation")
        )
    missing = np.setdiff1d(np.arange(40), rows)[0]
    with pytest.raises(InputError, match=f"Row {missing} is not among the 20 rows with copies"):
        copies.of(np.array([rows[0], missing]))


def test_a_damaged_file_is_refused(written):
    path, rows = written
    data = bytearray(path.read_bytes())
    spot = data.find(X[rows[0]].tobytes())
    assert spot > 0
    data[spot] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ArtifactError, match="rule make_copies makes it again"):
        stage.CopiesFile(path).of(rows)


@pytest.mark.parametrize("name", ["invariant_svm", "virtual_support_vectors", "virtual_samples"])
def test_methods_give_the_same_from_the_file_as_without(written, name):
    path, rows = written
    y = (X[:, 12] > 0.5).astype(int)
    options = dict(n_classes=2, seed=0, settings={"cv": None})
    made = Inputs(X, image_shape=(5, 5), copies=stage.CopiesFile(path))
    fresh = Inputs(X, image_shape=(5, 5))
    results = [fit_draw(name, i, rows[:10], y[rows[:10]], **options) for i in (made, fresh)]
    np.testing.assert_array_equal(results[0].proba, results[1].proba)


def test_names_of_transforms():
    assert transform_or_default(None, (5, 5)) == "rotation"
    assert transform_or_default(None, None) == "jitter"
    assert transform_or_default("shear", None) == "shear"
    assert names_in(["rotation", {"name": "scaling", "grid": [1.0]}]) == ["rotation", "scaling"]
    assert transform_key({"name": "shear"}) == transform_key("shear") == "shear"
    one, other = ({"name": "rotation", "step": s} for s in (30, 45))
    assert transform_key(one) != transform_key(other)
    assert transform_key(one).startswith("rotation-")


@pytest.mark.parametrize(
    ("shape", "options", "order"),
    [
        ((5, 5), {}, 4),
        ((4, 4), {"step": 30}, 4),
        ((5, 5), {"step": 180}, 2),
        ((5, 5), {"step": 120}, 1),
        ((4, 6), {}, 2),
    ],
)
def test_sectors_are_found_where_turns_move_whole_pixels(shape, options, order):
    rows = np.random.default_rng(2).random((4, int(np.prod(shape))))
    copies = virtual_samples(rows, shape, "rotation", **options)
    assert ring_symmetry(copies, shape) == order
    assert ring_symmetry(copies, shape, "line") == 1
    assert ring_symmetry(copies, None) == 1
    copies[1, 1, 3] += 0.1
    assert ring_symmetry(copies, shape) == 1


def test_color_images_have_sectors_too():
    copies = virtual_samples(np.random.default_rng(2).random((3, 48)), (4, 4, 3), "rotation")
    assert ring_symmetry(copies, (4, 4, 3)) == 4
