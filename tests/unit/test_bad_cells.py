"""Cells, names and headers that used to end in a traceback, read by `run` and by `label`."""

import tracemalloc

import numpy as np
import pytest

from fewfold.datasets import load
from fewfold.exceptions import InputError
from fewfold.labeling.intake import read_input
from fewfold.linalg.preparation import check_finite


def both(path, target="label"):
    """Read a file as `fewfold label` does, and as `fewfold run` and its first stage do."""
    yield lambda: read_input(path, target)
    yield lambda: check_finite(load("file", path=path, target=target).X)


@pytest.mark.parametrize("cell", ["4e38", "-4e38", "1e308", "2e18"])
def test_numbers_beyond_single_precision(tmp_path, cell):
    path = tmp_path / "a.csv"
    rows = "".join(f"{i},{i % 3},{'uv'[i % 2]}\n" for i in range(8))
    path.write_text(f"a,b,label\n{rows}{cell},1,\n")
    for read in both(path):
        with pytest.raises(InputError, match=r"up to 1e\+18"):
            read()
    X = np.full((9, 2), 1.0)
    X[3, 1] = float(cell)
    np.savez(tmp_path / "a.npz", X=X, y=np.array([0, 1] * 4 + [-1]))
    for read in both(tmp_path / "a.npz", "y"):
        with pytest.raises(InputError, match=r"in row 3, column 1.*up to 1e\+18"):
            read()


def test_a_class_name_with_nul(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n1,u\0x\n2,v\n3,u\0x\n4,\n")
    for read in both(path):
        with pytest.raises(InputError, match="class name 'u.x00x' holds a NUL character"):
            read()


@pytest.mark.parametrize("column", ["label", "kind"])
def test_one_long_text_among_many_short_ones(tmp_path, column):
    """An array of fixed width would take 100 001 times the longest text: 9.3 GiB."""
    path, n = tmp_path / "a.csv", 100_001
    long = {"label": "x" * 900, "kind": "x" * 25_000}[column]
    lines = [f"{i % 5},{'pq'[i % 2]},{'uv'[i % 2] if i % 3 else ''}" for i in range(n)]
    at = {"label": f"1,p,{long}", "kind": f"1,{long},u"}[column]
    path.write_text("a,kind,label\n" + "\n".join([*lines[:-1], at]) + "\n")
    tracemalloc.start()
    found = read_input(path, "label")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.X.shape[0] == n and peak < 200e6
    assert (long in found.classes) == (column == "label")


def test_a_class_name_of_25_kb(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n1,u\n2,v\n3," + "x" * 25_000 + "\n4,\n")
    for read in both(path):
        with pytest.raises(InputError, match="has 25000 characters; allowed: text of up to 1000"):
            read()


@pytest.mark.parametrize("shape", ["(True, 3)", "(2, -3)", "(2.0, 3)", "('a',)"])
def test_npy_headers_with_odd_shapes(tmp_path, shape):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    head = b"\x93NUMPY\x01\x00\x76\x00" + text.ljust(117).encode() + b"\n"
    path = tmp_path / "a.npy"
    path.write_bytes(head + bytes(48))
    for read in both(path, "0"):
        with pytest.raises(InputError):
            read()
