"""Folders of images: subfolders as classes, tables of labels, small and large images."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fewfold.datasets.table.image_folders import (
    N_COLOR,
    N_HOG,
    gradient_histograms,
    read_images,
)
from fewfold.exceptions import InputError
from fewfold.labeling.intake import read_input
from fewfold.labeling.prediction import read_new_rows


def save(path, side, bright, mode="L"):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((side, side), bright, np.uint8)
    Image.fromarray(pixels).convert(mode).save(path)


@pytest.fixture
def folder(tmp_path):
    for i in range(6):
        for name, bright in (("cat", 30), ("dog", 200)):
            save(tmp_path / f"pets/{name}/{i}.png", 12, bright + i)
    for i in range(3):
        save(tmp_path / f"pets/unlabelled/{i}.jpg", 12, 100)
        save(tmp_path / f"pets/new{i}.png", 12, 100)
    save(tmp_path / "pets/.thumbnails/0.png", 12, 100)
    (tmp_path / "pets/notes.txt").write_text("not an image")
    return tmp_path / "pets"


def test_subfolders_are_classes(folder):
    found = read_input(folder)
    assert found.classes == ["cat", "dog"] and found.image_shape == (12, 12)
    assert found.X.shape == (18, 144) and len(found.labeled) == 12
    assert found.ids[0] == "cat/0.png" and found.id_name == "file"
    assert np.allclose(found.X[0], 30 / 255)
    assert found.sentences[0] == "18 images, used as 12 x 12 gray pixels."


def test_large_images_are_described_by_gradients(folder):
    save(folder / "cat/large.png", 100, 9)
    found = read_input(folder)
    assert found.image_shape is None and found.X.shape == (19, N_HOG)
    assert "gradients (HOG)" in found.sentences[0]


@pytest.mark.parametrize("inside", [True, False])
def test_a_table_of_labels(folder, inside):
    table = folder / "metadata.csv" if inside else folder.parent / "mine.csv"
    names = ["new0.png", "new1.png", "cat/0.png", "dog/0.png"]
    pd.DataFrame({"file_name": names, "kind": ["a", "b", "a", ""]}).to_csv(table, index=False)
    found = read_input(folder, **({} if inside else {"labels": table}))
    assert found.classes == ["a", "b"] and len(found.labeled) == 3
    assert [found.ids[i] for i in found.labeled] == ["cat/0.png", "new0.png", "new1.png"]
    pd.DataFrame({"file_name": ["gone.png"], "kind": ["a"]}).to_csv(table, index=False)
    with pytest.raises(InputError, match="not in the folder, such as 'gone.png'"):
        read_input(folder, **({} if inside else {"labels": table}))


def test_folders_that_cannot_be_used(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no images"):
        read_input(tmp_path / "empty")
    with pytest.raises(InputError, match="no image has a label.*--labels"):
        read_input(folder / "cat")
    (folder / "cat/0.png").write_bytes(b"\x89PNG broken")
    with pytest.raises(InputError, match="0.png: not a readable image"):
        read_input(folder)


def test_transparent_and_color_images(tmp_path):
    save(tmp_path / "a.png", 10, 50, "RGB")
    clear = Image.new("RGBA", (10, 10), (0, 0, 0, 0))
    clear.save(tmp_path / "b.png")
    X, shape = read_images(tmp_path, [tmp_path / "a.png", tmp_path / "b.png"])
    assert shape == (10, 10) and np.allclose(X[0], 50 / 255) and np.allclose(X[1], 1)


@pytest.fixture
def colored(tmp_path):
    """Images of mixed sizes, gray but for one class; of two kinds that only differ by color."""
    rng = np.random.default_rng(0)
    for i in range(8):
        for name, tint in (("red", (90, 0, 0)), ("blue", (0, 0, 90))):
            side = rng.integers(9, 14, 2)
            pixels = np.full((*side, 3), 100) + np.array(tint)
            path = tmp_path / f"tints/{name}/{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels.astype(np.uint8)).save(path)
    save(tmp_path / "tints/new.png", 13, 100)
    return tmp_path / "tints"


def test_colors_are_channels_and_all_images_get_the_largest_size(colored):
    found = read_input(colored)
    h, w, channels = found.image_shape
    assert (channels, found.X.shape[1]) == (3, h * w * 3) and max(h, w) <= 13
    assert "color pixels" in found.sentences[0] and found.thumbnails.shape == (17, 40, 40)
    tints = found.X.reshape(17, -1, 3).mean(axis=1) * 255
    red = np.array([name.startswith("red") for name in found.ids])
    assert np.allclose(tints[red], (190, 100, 100))
    assert np.allclose(tints[found.ids.index("new.png")], 100)


def test_gray_pixels_are_used_where_a_size_is_asked_for(colored):
    X, shape = read_images(colored, sorted(colored.rglob("*.png")), (6, 7))
    assert shape == (6, 7) and X.shape == (17, 42)
    X, shape = read_images(colored, sorted(colored.rglob("*.png")), (6, 7, 3))
    assert shape == (6, 7, 3) and X.shape == (17, 126)
    with pytest.raises(InputError, match="allowed: .height, width. for gray"):
        read_images(colored, sorted(colored.rglob("*.png")), (6, 7, 2))


def test_gray_images_saved_with_three_channels_stay_gray(tmp_path):
    for i in range(3):
        save(tmp_path / f"a/{i}.png", 12, 60 + i, "RGB")
        save(tmp_path / f"b/{i}.jpg", 12, 60 + i, "RGB")
    assert read_images(tmp_path, sorted(tmp_path.rglob("*.*g")))[1] == (12, 12)


def test_large_colored_images_are_described_by_gradients_and_colors(colored):
    Image.new("RGB", (100, 70), (100, 100, 190)).save(colored / "blue/large.png")
    found = read_input(colored)
    assert found.image_shape is None and found.X.shape == (18, N_HOG + N_COLOR)
    assert "(HOG) and colors" in found.sentences[0]
    colors = found.X[found.ids.index("blue/large.png"), N_HOG:].reshape(-1, 3) * 255
    assert np.allclose(colors, (100, 100, 190))


def test_gradient_histograms_know_directions_and_not_contrast():
    ramp = np.tile(np.linspace(0, 1, 64), (64, 1))
    across, down = gradient_histograms(ramp), gradient_histograms(ramp.T)
    assert across.reshape(64, 9).sum(axis=0).argmax() == 0
    assert down.reshape(64, 9).sum(axis=0).argmax() == 4  # 90 of 180 degrees
    rng = np.random.default_rng(0)
    texture = rng.random((64, 64))
    assert np.allclose(gradient_histograms(texture), gradient_histograms(0.5 * texture), rtol=0.01)


@pytest.mark.parametrize("large", [False, True])
def test_runs_expect_the_colors_that_they_load(colored, large):
    from fewfold.datasets import describe, load

    if large:
        save(colored / "red/large.png", 80, 40)
    data, expected = load("file", path=colored), describe("file", path=colored)
    assert data.X.shape == (expected.n_samples, expected.n_features)
    assert data.image_shape == expected.image_shape


@pytest.mark.parametrize("side", [12, 80])
def test_runs_read_folders_too(folder, side):
    """``source: file`` with a folder: what the plan expects is what is loaded."""
    from fewfold.datasets import describe, load
    from fewfold.pipeline.file_digests import file_digest

    if side > 64:
        save(folder / "cat/large.png", side, 40)
    data, expected = load("file", path=folder), describe("file", path=folder)
    assert data.X.shape == (expected.n_samples, expected.n_features)
    assert data.image_shape == expected.image_shape == (None if side > 64 else (12, 12))
    assert data.classes == ["cat", "dog"] and (data.y == -1).sum() == 6
    before = file_digest(folder)
    (folder / "new0.png").rename(folder / "dog/new0.png")
    assert file_digest(folder) != before


def test_large_images_are_shown_small(folder):
    for i in range(3):
        save(folder / f"cat/large{i}.png", 100, 40)
    found = read_input(folder)
    assert found.image_shape is None and found.thumbnails.shape == (21, 40, 40)
    assert found.thumbnails[found.ids.index("cat/large0.png")].mean() == 40


@pytest.mark.parametrize(
    ("side", "mode", "kept", "width"),
    [(12, "L", [12, 12], 144), (12, "RGB", [12, 12, 3], 432), (90, "L", None, N_HOG)],
)
def test_new_images_are_read_like_those_of_the_model(tmp_path, side, mode, kept, width):
    for i in range(3):
        save(tmp_path / f"new/{i}.png", side, 60 * i, mode)
    model = SimpleNamespace(columns=None, n_features=width, found={"image_shape": kept})
    ((X, names, called),) = read_new_rows(model, tmp_path / "new", print)
    assert X.shape == (3, width) and names == ["0.png", "1.png", "2.png"] and called == "file"


def test_a_folder_is_refused_by_a_model_of_series(tmp_path):
    save(tmp_path / "new/0.png", 12, 60)
    model = SimpleNamespace(columns=None, n_features=144, found={"image_shape": [144]})
    with pytest.raises(InputError, match="was not made from images"):
        list(read_new_rows(model, tmp_path / "new", print))
