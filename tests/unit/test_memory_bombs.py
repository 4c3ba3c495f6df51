"""Small files that unpack to much more: refused in one sentence, before the memory is taken.

Each file is read in a process that may take 2 GB; "free" memory is what that leaves.
"""

import subprocess
import sys
import textwrap
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from fewfold.datasets import arrays, frames
from fewfold.exceptions import InputError
from fewfold.system.memory import free_memory, require, require_rows
from fewfold.transforms import get_transform, virtual_samples

LIMIT = 2 << 30
READ = """
import resource, sys
from fewfold.datasets import load
from fewfold.exceptions import FewfoldError
from fewfold.labeling.intake import read_input
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
path, target = sys.argv[1:]
said = []
for read in (read_input, lambda path, target: load("file", path=path, target=target)):
    try:
        read(path, target)
        said.append("read")
    except FewfoldError as error:
        said.append(str(error))
taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
print(taken, *said, sep="\\n")
"""


def read_small(path, target="label"):
    """What both readers say of a file, and the MB that reading took."""
    code = textwrap.dedent(READ.format(limit=LIMIT))
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), target],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    taken, *said = done.stdout.splitlines()
    return int(taken), said


def refused(path, *words, target="label", most_mb=1000):
    taken, said = read_small(path, target)
    for sentence in said:
        assert sentence != "read"
        for word in words:
            assert word in sentence, sentence
    assert taken < most_mb, f"{taken} MB were taken to refuse {Path(path).stat().st_size} bytes"


def test_a_parquet_dictionary(tmp_path):
    """One long text that stands in every row: a few kB for 1.3 GB."""
    rows = 20_000
    text = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["x" * 67_000])
    labels = np.where(np.arange(rows) % 2, "u", "v")
    table = pa.table({"a": np.arange(rows) % 7, "text": text, "label": labels})
    # Without pyarrow's own note of the type, as any other program would write it.
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path, store_schema=False)
    assert path.stat().st_size < 2e5
    refused(path, "GB of memory", "free", target="label")


def test_an_honest_parquet_file_with_repeated_texts_is_read(tmp_path):
    frame = pd.DataFrame({"a": np.arange(3000.0), "kind": ["long " * 20_000, "y", None] * 1000})
    frame["label"] = ["u", "v", "w"] * 1000
    path = tmp_path / "a.parquet"
    frame.to_parquet(path)
    found = frames.read_frame(path)
    assert found["kind"].tolist()[:2] == ["long " * 20_000, "y"] and pd.isna(found["kind"][2])
    assert found["a"].tolist() == frame["a"].tolist()


def test_parquet_rows_of_one_number(tmp_path):
    """Run-length encoding: 40 million equal rows in a few kB."""
    path = tmp_path / "a.parquet"
    n = 2_000_000
    label = pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), ["u"])
    table = pa.table({"a": np.zeros(n), "label": label})
    with parquet.ParquetWriter(path, table.schema, compression="zstd") as out:
        for _ in range(20):
            out.write_table(table)
    assert path.stat().st_size < 1e6
    taken, said = read_small(path)
    assert "40,000,000 rows" in said[0]  # labeling is not made for so many
    assert "40000000 rows x 1 columns" in said[1] and taken < 1000  # a column at a time


def test_a_matrix_market_header(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n400000000 2 1\n1 1 1.0\n")
    (tmp_path / "y.txt").write_text("u\nv\n")
    with pytest.raises(InputError, match="400000000 rows with 1 entries"):
        arrays.read_mtx(path)
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 1 3.0\n")
    assert arrays.read_mtx(path).toarray().tolist() == [[1, 0], [3, 0]]


@pytest.mark.parametrize("kind", ["unwritten", "one chunk", "large chunk", "shared text"])
def test_hdf5(tmp_path, kind):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["y"] = np.arange(4)
        if kind == "unwritten":
            file.create_dataset("X", (40_000, 1000), "f8", chunks=(1000, 1000), compression=1)
            word = "0 of its 40 parts were written"
        elif kind == "one chunk":
            X = file.create_dataset("X", (4, 1 << 25), "f8", chunks=(4, 1 << 25), compression=9)
            X.id.write_direct_chunk((0, 0), _deflated(1 << 30))
            word = "GB of memory"
        elif kind == "large chunk":
            X = file.create_dataset(
                "X", (4, 2), "f8", chunks=(1 << 20, 1 << 7), maxshape=(None, None), compression=9
            )
            X.id.write_direct_chunk((0, 0), _deflated(1 << 30))
            word = "unpacked whole"
        else:
            file["X"] = np.ones((200_000, 1))
            del file["y"]
            _share_one_text(file, "y", 200_000, 100_000)
            word = "texts"
    assert path.stat().st_size < 9e6
    refused(path, word, target="y")


def _deflated(size):
    import zlib

    packer, zeros, parts = zlib.compressobj(1), bytes(1 << 24), []
    for _ in range(size >> 24):
        parts.append(packer.compress(zeros))
    return b"".join([*parts, packer.flush()])


def _share_one_text(file, name, rows, length):
    """Let all rows of a text array point at one stored text."""
    node = file.create_dataset(name, (rows,), dtype=h5py.string_dtype())
    node[0] = "u" * length
    path, offset = file.filename, node.id.get_offset()
    file.close()
    with open(path, "rb+") as raw:
        raw.seek(offset)
        first = raw.read(16)
        raw.seek(offset)
        raw.write(first * rows)


def test_npz_members_and_sparse_shapes(tmp_path):
    import zipfile

    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        header = np.lib.format.header_data_from_array_1_0(np.zeros((1, 1)))
        header["shape"] = (1 << 14, 1 << 13)
        with archive.open("X.npy", "w", force_zip64=True) as out:
            np.lib.format.write_array_header_1_0(out, header)
            for _ in range(1 << 6):
                out.write(bytes(1 << 24))
    assert path.stat().st_size < 9e6
    refused(path, "GB of memory", target="y")
    one = np.array([0])
    np.savez(path, format=np.array("coo"), shape=[1 << 40, 3], data=np.ones(1), row=one, col=one)
    with pytest.raises(InputError, match="nearly all rows would be empty"):
        arrays.open_source(path).read("X")


def test_a_table_of_300_000_columns(tmp_path):
    path = tmp_path / "a.csv"
    names = ",".join(f"c{i}" for i in range(300_000))
    path.write_text(f"{names},label\n" + f"{'1,' * 300_000}u\n" + f"{'2,' * 300_000}v\n")
    refused(path, "300001 columns", "200000")


def test_cells_of_an_h5ad_file(tmp_path):
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        file.create_dataset("layers/big", (10**6, 10**4), "f4", chunks=True, compression=1)
    with pytest.raises(InputError, match="parts were written"):
        arrays.check_h5ad(path)
    with h5py.File(path, "w") as file:
        file["X"] = h5py.ExternalLink("/etc/passwd", "/")
    with pytest.raises(InputError, match="is a link"):
        arrays.check_h5ad(path)


def test_free_memory_minds_the_limit_of_the_process(tmp_path):
    code = """
import resource
from fewfold.system.memory import free_memory
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
print(free_memory())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 1 << 30
    assert free_memory() > 0


def test_what_fits_is_not_refused():
    require(10**9, "a", "values", available=2 * 10**9)
    with pytest.raises(InputError, match="a: values take 1.0 GB of memory, and 1.9 GB are free"):
        require(10**9, "a", "values", available=19 * 10**8)
    require_rows("a", (10_000, 10**6), 0)
    require_rows("a", (10**6, 5), 10**4)


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "rotation", "step": 1e-7},
        {"name": "translation", "reach": 10**9},
        {"name": "jitter", "copies": 10**12},
        [{"name": "jitter", "copies": 900}, {"name": "translation", "reach": 5}],
    ],
)
def test_transforms_with_endless_copies(spec):
    with pytest.raises(InputError, match="copies of each sample; allowed: up to 10000"):
        get_transform(spec)


def test_copies_that_do_not_fit_into_memory():
    X = np.broadcast_to(np.float32(0), (10**9, 64))
    with pytest.raises(InputError, match="copies of each row take"):
        virtual_samples(X[: 10**7], None, "jitter", copies=9000)
