"""`fewfold doctor --verify`: damage is found, and named with what makes the file again."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from _stage_files import write_small
from fewfold.cli import app
from fewfold.exceptions import InputError
from fewfold.pipeline.artifacts import content_digest, writing
from fewfold.pipeline.kernel_files import join_tiles
from fewfold.verify import verify_folder


def write(path, stage):
    with writing(path, stage) as out:
        out.add("X", np.arange(100.0).reshape(50, 2))


def write_kernel(folder):
    tiles = [folder / "rbf" / f"tile_{i}.h5" for i in range(2)]
    for i, tile in enumerate(tiles):
        with writing(tile, "compute_kernel_tile") as out:
            out.add("rows", np.arange(3 * i, 3 * i + 3))
            notes = {"kind": "kernel", "n": 6, "n_new": 0, "gamma": 1.0, "sparse": False}
            for key, value in notes.items():
                out.note(key, value)
            out.add_blocks("K", (3, 6), np.float32, [np.full((3, 6), 1.5 + i)])
    join_tiles(folder / "rbf.h5", tiles, settings={})


@pytest.fixture
def run(tmp_path):
    """A run's folder with a few files of it, and one that is the user's own."""
    write(tmp_path / "results/digits/raw.h5", "fetch_dataset")
    write(tmp_path / "results/digits/features.h5", "prepare_features")
    write(tmp_path / "input/features.h5", "fewfold label")
    write_kernel(tmp_path / "results/digits/kernels")
    (tmp_path / "results/metrics.csv").write_text("a,b\n")
    (tmp_path / "notes.txt").write_text("mine")
    return tmp_path


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)


def states(folder):
    return {str(f.path.relative_to(folder)): f.state for f in verify_folder(folder)}


def damaged(folder):
    found = [f for f in verify_folder(folder) if f.state == "damaged"]
    return {str(f.path.relative_to(folder)): f.advice for f in found}


def test_whole_files_are_whole(run):
    found = states(run)
    assert found.pop("notes.txt") == "foreign"
    assert found.pop("results/metrics.csv") == "unknown"
    assert len(found) == 6 and set(found.values()) == {"whole"}


@pytest.mark.parametrize(
    "name, maker",
    [
        ("results/digits/raw.h5", "rule fetch_dataset"),
        ("results/digits/features.h5", "rule prepare_features"),
        ("input/features.h5", "the command 'fewfold label'"),
    ],
)
def test_every_flipped_byte_is_found_with_what_makes_the_file_again(run, name, maker):
    path, whole = run / name, (run / name).read_bytes()
    before = path.read_bytes().find(np.arange(100.0).tobytes())
    missed = []
    seal = whole.find(b"seal")  # its checksum ends where a gap begins
    near = range(seal, seal + 48)
    for place in [0, 9, before, before + 799, *near, *range(20, len(whole), len(whole) // 60)]:
        flip(path, place)
        found = damaged(run)
        if found:
            assert list(found) == [name] and maker in found[name], place
        else:
            missed.append(place)
        path.write_bytes(whole)
    # What is left are bytes that hold nothing: gaps between the parts of a file.
    for place in missed:
        before, after = whole[:place].rstrip(b"\0"), whole[place:].lstrip(b"\0")
        assert len(whole) - len(before) - len(after) >= 16, place


def test_a_damaged_tile_is_named_with_its_kernel_intact(run):
    tile = run / "results/digits/kernels/rbf/tile_1.h5"
    flip(tile, tile.read_bytes().find(np.full(18, 2.5, np.float32).tobytes()) + 5)
    found = damaged(run)
    assert list(found) == ["results/digits/kernels/rbf/tile_1.h5"]
    assert "rule compute_kernel_tile" in found["results/digits/kernels/rbf/tile_1.h5"]


def test_a_kernel_with_a_lost_or_other_tile_is_damaged(run):
    folder = run / "results/digits/kernels"
    shutil.copy(folder / "rbf/tile_0.h5", folder / "rbf/tile_1.h5")
    assert list(damaged(run)) == ["results/digits/kernels/rbf.h5"]
    (folder / "rbf/tile_1.h5").unlink()
    assert list(damaged(run)) == ["results/digits/kernels/rbf.h5"]


def test_a_file_cut_short_or_of_another_stage_is_damaged(run):
    raw, features = run / "results/digits/raw.h5", run / "results/digits/features.h5"
    shutil.copy(raw, features)
    raw.write_bytes(raw.read_bytes()[:1000])
    found = damaged(run)
    assert set(found) == {"results/digits/raw.h5", "results/digits/features.h5"}
    assert "rule prepare_features" in found["results/digits/features.h5"]


def test_a_cache_between_runs_names_the_rule_by_the_file_itself(tmp_path):
    path = write_small(tmp_path / "0123abcd", **{"labels/8/0": np.arange(7, 14)})
    assert states(tmp_path) == {"0123abcd": "whole"}
    whole = path.read_bytes()
    for array in (np.arange(6.0), np.ones(4, np.float32), np.arange(7, 14)):
        flip(path, whole.find(array.tobytes()) + 1)
        assert "rule demo" in damaged(tmp_path)["0123abcd"]
        path.write_bytes(whole)


def test_copied_answers_are_compared_with_what_was_written(tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n1,a\n")
    (tmp_path / "input").mkdir()
    record = {"labels.csv": [content_digest(labels)]}
    (tmp_path / "input/published.json").write_text(json.dumps(record))
    assert states(tmp_path)["labels.csv"] == "whole"
    flip(labels, 10)
    assert "fewfold label" in damaged(tmp_path)["labels.csv"]


def test_a_damaged_download_is_found(tmp_path):
    from fewfold.datasets.registry import registry

    wanted = next(entry for entry in registry().values() if entry.files).files[0]
    path = tmp_path / wanted.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"other")
    assert "downloads it again" in damaged(tmp_path)[wanted.path]


def test_the_command_ends_with_1_only_if_something_is_damaged(run):
    call = CliRunner().invoke
    done = call(app, ["doctor", "--verify", str(run)])
    assert done.exit_code == 0
    assert "6 files unchanged, 0 damaged, 1 not written by fewfold" in done.output
    flip(run / "results/digits/raw.h5", 9)
    done = call(app, ["doctor", "--verify", str(run)])
    assert done.exit_code == 1
    assert "rule fetch_dataset makes it again" in done.output


def test_what_is_not_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a folder"):
        list(verify_folder(tmp_path / "none"))
