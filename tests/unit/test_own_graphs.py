"""The user's own graph: read from files, checked, and used by candidates over a graph."""

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from fewfold.datasets.table.own_graphs import read_own_graph
from fewfold.exceptions import InputError

N = 30


def ring(n=N):
    A = np.zeros((n, n))
    A[np.arange(n), (np.arange(n) + 1) % n] = 2.0
    return A + A.T


@pytest.mark.parametrize("kind", ["npz", "dense", "npy", "mtx", "one direction"])
def test_kinds_of_files(tmp_path, kind):
    A = ring()
    path = tmp_path / f"G.{kind if kind in ('npz', 'npy', 'mtx') else 'npz'}"
    if kind == "npy":
        np.save(path, A)
    elif kind == "dense":
        np.savez(path, G=A)
    elif kind == "mtx":
        io.mmwrite(path, sparse.coo_array(A))
    else:
        sparse.save_npz(path, sparse.csr_array(np.triu(A) if kind == "one direction" else A))
    W, said = read_own_graph(str(path), tmp_path / "my.csv", N)
    assert np.allclose(W.toarray(), A / 2) and "30 edges" in said[0] and "as weights" in said[0]


def test_distances_by_name_or_as_asked(tmp_path):
    near = ring()
    near[0, 1] = near[1, 0] = 9.0  # far: a small weight
    sparse.save_npz(tmp_path / "distances.npz", sparse.csr_array(near))
    sparse.save_npz(tmp_path / "G.npz", sparse.csr_array(near))
    W, said = read_own_graph(str(tmp_path / "distances.npz"), tmp_path / "my.csv", N)
    asked, _ = read_own_graph(f"distances:{tmp_path / 'G.npz'}", tmp_path / "my.csv", N)
    plain, _ = read_own_graph(f"weights:{tmp_path / 'distances.npz'}", tmp_path / "my.csv", N)
    assert (W != asked).nnz == 0 and "taken as distances" in said[0]
    assert W[0, 1] < 0.25 * W[4, 5] and plain[0, 1] > plain[4, 5]


def test_pairs_of_cells(tmp_path):
    A = sparse.csr_array(ring())
    with h5py.File(tmp_path / "my.h5ad", "w") as file:
        group = file.create_group("obsp/connectivities")
        group.attrs.update({"encoding-type": "csr_matrix", "shape": A.shape})
        for name in ("data", "indices", "indptr"):
            group.create_dataset(name, data=getattr(A, name))
    W, _ = read_own_graph("obsp:connectivities", tmp_path / "my.h5ad", N)
    assert np.allclose(W.toarray(), ring() / 2)
    with pytest.raises(InputError, match="Allowed: obsp:connectivities"):
        read_own_graph("obsp:connectivity", tmp_path / "my.h5ad", N)
    with pytest.raises(InputError, match="only .h5ad files"):
        read_own_graph("obsp:connectivities", tmp_path / "my.csv", N)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda A: A[:-1, :-1], "29 x 29 numbers; expected: 30 x 30"),
        (lambda A: -A, "holds -2.0; allowed: numbers from 0"),
        (lambda A: A * np.where(A > 0, np.inf, 1), "holds inf"),
        (lambda A: A * 0, "no two rows are joined"),
    ],
)
def test_what_is_refused(tmp_path, change, words):
    with np.errstate(invalid="ignore"):
        np.savez(tmp_path / "G.npz", G=change(ring()))
    with pytest.raises(InputError, match=words):
        read_own_graph(str(tmp_path / "G.npz"), tmp_path / "my.csv", N)
    with pytest.raises(InputError, match="no such file"):
        read_own_graph("gone.npz", tmp_path / "my.csv", N)


def test_candidates_use_it(tmp_path):
    """Features are noise here: only the graph knows the classes."""
    from fewfold import label

    rng = np.random.default_rng(0)
    kinds = np.repeat(["ash", "oak"], 40)
    joined = np.triu(rng.random((80, 80)) < np.where(kinds[:, None] == kinds, 0.2, 0.002), 1)
    sparse.save_npz(tmp_path / "G.npz", sparse.csr_array((joined + joined.T).astype(float)))
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    frame["kind"] = np.where(np.arange(80) % 8 == 0, kinds, "")
    options = {"target": "kind", "methods": ["diffusion"], "quick": True}
    without = label(frame, out=tmp_path / "without", **options).labels
    found = label(frame, out=tmp_path / "with", graph=str(tmp_path / "G.npz"), **options)
    assert (found.labels == kinds).mean() > 0.95 > 0.75 > (without == kinds).mean()
