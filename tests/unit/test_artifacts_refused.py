"""Stage files that are damaged, foreign or meant to harm: refused before anything is allocated."""

import shutil

import h5py
import numpy as np
import pytest

from _stage_files import STAGE, everything, write_small
from fewfold.exceptions import ArtifactError
from fewfold.pipeline import artifacts
from fewfold.pipeline.artifacts import content_digest, read


def test_missing(tmp_path):
    with pytest.raises(ArtifactError, match="is missing. Run again: rule demo makes it"):
        read(tmp_path / "none.h5", STAGE)


def test_not_hdf5(tmp_path):
    (tmp_path / "a.h5").write_text("hello")
    with pytest.raises(ArtifactError, match="not a whole HDF5 file.*rule demo makes it again"):
        read(tmp_path / "a.h5", STAGE)
    (tmp_path / "folder.h5").mkdir()
    with pytest.raises(ArtifactError, match="not a whole HDF5 file"):
        read(tmp_path / "folder.h5", STAGE)
    (tmp_path / "empty.h5").touch()
    with pytest.raises(ArtifactError, match="not a whole HDF5 file"):
        read(tmp_path / "empty.h5", STAGE)


def test_foreign_hdf5(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as raw:
        raw["X"] = np.zeros(3)
    with pytest.raises(ArtifactError, match="not one written by fewfold"):
        read(tmp_path / "a.h5", STAGE)


def test_other_stage(tmp_path):
    write_small(tmp_path / "a.h5")
    with pytest.raises(ArtifactError, match="is a file of stage 'demo', expected was 'other'"):
        read(tmp_path / "a.h5", "other")


@pytest.mark.parametrize("version", [0, 2, 99])
def test_other_format_version(tmp_path, version):
    path = write_small(tmp_path / "a.h5")
    with h5py.File(path, "r+") as raw:
        del raw.attrs["format_version"]
        raw.attrs["format_version"] = version
    with pytest.raises(ArtifactError, match=f"has format version {version}, this fewfold reads 1"):
        read(path, STAGE)


def test_an_array_that_is_not_there(tmp_path):
    with read(write_small(tmp_path / "a.h5"), STAGE) as file:
        for ask in (lambda: file["nothing"], lambda: file.shape("nothing"),
                    lambda: file.rows("nothing", [0])):  # fmt: skip
            with pytest.raises(ArtifactError, match="has no array 'nothing'"):
                ask()


def test_truncated_at_every_length(tmp_path):
    path = write_small(tmp_path / "a.h5")
    whole = path.read_bytes()
    damaged = tmp_path / "b.h5"
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        damaged.write_bytes(whole[:length])
        with pytest.raises(ArtifactError):
            everything(damaged)


def test_garbage_after_the_end_changes_nothing(tmp_path):
    path = write_small(tmp_path / "a.h5")
    expected = everything(path)
    with open(path, "ab") as raw:
        raw.write(b"garbage" * 10)
    assert everything(path) == expected


def test_a_flipped_byte_is_found_or_does_not_matter(tmp_path):
    path = write_small(tmp_path / "a.h5")
    expected, whole = everything(path), path.read_bytes()
    # Most of the zeros are room that HDF5 keeps for later: a sample of them is enough.
    places = [i for i, byte in enumerate(whole) if byte or i % 16 == 0]
    found = 0
    damaged = tmp_path / "b.h5"
    damaged.write_bytes(whole)
    with open(damaged, "rb+", buffering=0) as raw:
        for place in places:
            raw.seek(place)
            raw.write(bytes([whole[place] ^ (0xFF, 0x01, 0x80)[place % 3]]))
            try:
                assert everything(damaged) == expected, f"byte {place} changed what is read"
            except ArtifactError:
                found += 1
            raw.seek(place)
            raw.write(whole[place : place + 1])
    assert found > len(places) // 2


def hostile(path, change):
    write_small(path)
    with h5py.File(path, "r+") as raw:
        change(raw)
        artifacts.put_text(raw, "content", artifacts.content_of(raw))  # as a forger would
        artifacts.put_text(raw, "seal", artifacts.seal_of(artifacts.attributes_of(raw)))
    return path


def _replace(raw, name, **options):
    if name in raw:
        del raw[name]
    dataset = raw.create_dataset(name, **options)
    dataset.attrs["digest"] = np.uint64(0)


def test_external_link_is_refused(tmp_path):
    write_small(tmp_path / "other.h5")

    def change(raw):
        del raw["X"]
        raw["X"] = h5py.ExternalLink("other.h5", "/X")

    with pytest.raises(ArtifactError, match="a link to elsewhere"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["X"]


def test_soft_link_is_refused(tmp_path):
    def change(raw):
        raw["Y"] = h5py.SoftLink("/X")

    with pytest.raises(ArtifactError, match="a link to elsewhere"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["Y"]


def test_a_link_on_the_way_is_refused(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as raw:
        raw["in/X"] = np.zeros(2)

    def change(raw):
        raw["group"] = h5py.ExternalLink("secret.h5", "/in")

    with pytest.raises(ArtifactError, match="a link to elsewhere"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["group/X"]


def test_virtual_dataset_is_refused(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as raw:
        raw["X"] = np.zeros((2, 3))
    layout = h5py.VirtualLayout((2, 3), dtype="f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "X", (2, 3))

    def change(raw):
        del raw["X"]
        raw.create_virtual_dataset("X", layout)

    with pytest.raises(ArtifactError, match="outside of the file"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["X"]


def test_external_storage_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(b"\1" * 64)

    def change(raw):
        _replace(raw, "X", shape=(8,), dtype="f8", external=[(str(tmp_path / "secret"), 0, 64)])

    with pytest.raises(ArtifactError, match="outside of the file"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["X"]


@pytest.mark.parametrize("chunks", [None, (1 << 10, 1 << 10)])
def test_absurd_shapes_are_refused_before_allocation(tmp_path, chunks):
    def change(raw):
        # 8 EiB announced, nothing stored.
        _replace(raw, "X", shape=(1 << 30, 1 << 30), dtype="f8", chunks=chunks)

    with pytest.raises(ArtifactError, match=r"announces \(1073741824, 1073741824\) float64"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["X"]


def test_compressed_zeros_that_would_fill_the_memory_are_refused(tmp_path):
    def change(raw):
        raw.create_dataset("bomb", data=np.zeros(1 << 20), compression="gzip")

    with pytest.raises(ArtifactError, match="announces"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["bomb"]


@pytest.mark.parametrize("part", ["indices", "indptr", "shape"])
def test_sparse_parts_that_do_not_fit_are_refused(tmp_path, part):
    wrong = {"indices": [0, 5000], "indptr": [0, 1, 700], "shape": [2, 1]}[part]

    def change(raw):
        del raw[f"W/{part}"]
        made = raw.create_dataset(f"W/{part}", data=np.array(wrong, np.int64))
        made.attrs["digest"] = artifacts.digest_of(np.array(wrong, np.int64))

    with pytest.raises(ArtifactError, match="W"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["W"]


@pytest.mark.parametrize("what", ["string", "object", "compound", "empty", "group"])
def test_other_types_are_refused(tmp_path, what):
    def change(raw):
        if what == "string":
            raw["odd"] = "text"
        elif what == "object":
            raw.create_dataset("odd", (2,), dtype=h5py.vlen_dtype(np.int32))
        elif what == "compound":
            raw["odd"] = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])
        elif what == "empty":
            raw["odd"] = h5py.Empty("f8")
        else:
            raw.create_group("odd")

    with pytest.raises(ArtifactError, match="odd"):
        with read(hostile(tmp_path / "a.h5", change), STAGE) as file:
            file["odd"]


def test_settings_that_were_edited_are_found(tmp_path):
    path = write_small(tmp_path / "a.h5")
    with h5py.File(path, "r+") as raw:
        raw.attrs["settings"] = '{"k": 4}'
    with pytest.raises(ArtifactError, match="not what was written"):
        read(path, STAGE)


def test_a_copy_elsewhere_reads_alike(tmp_path):
    write_small(tmp_path / "a.h5")
    (tmp_path / "far").mkdir()
    shutil.copy(tmp_path / "a.h5", tmp_path / "far/b.h5")
    assert everything(tmp_path / "far/b.h5") == everything(tmp_path / "a.h5")
    assert content_digest(tmp_path / "far/b.h5") == content_digest(tmp_path / "a.h5")
