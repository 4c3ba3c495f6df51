"""The user's own graph: sparse weights or distances between the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from fewfold.datasets import arrays
from fewfold.datasets.table.cell_files import read_pairs
from fewfold.exceptions import InputError
from fewfold.graph.weights import symmetrize
from fewfold.system.file_schema import LARGEST_NUMBER
from fewfold.system.wording import counted

DISTANCES, WEIGHTS, OBSP = "distances:", "weights:", "obsp:"


def read_own_graph(given: str, file: Path, n_rows: int) -> tuple[sparse.csr_array, list[str]]:
    """Read a graph over the rows of a file as symmetric weights.

    Parameters
    ----------
    given : str
        An NPZ file (`scipy.sparse.save_npz`, or a dense array), a MatrixMarket file, or
        ``obsp:NAME`` of an h5ad file. ``distances:`` or ``weights:`` before it says what the
        numbers are; otherwise a name with "dist" in it stands for distances.
    file : Path
        The user's file.
    n_rows : int

    Returns
    -------
    W : csr_array of shape (n_rows, n_rows)
        Symmetric, not negative, empty diagonal, the largest weight 1.
    sentences : list of str
        What was read, in words.
    """
    name = given.removeprefix(DISTANCES).removeprefix(WEIGHTS)
    is_distance = given.startswith(DISTANCES) or (
        "dist" in Path(name).stem.lower() and not given.startswith(WEIGHTS)
    )
    G = _read(name, file)
    _check(G, name, n_rows)
    W = weights_of_distances(G) if is_distance else G
    W = symmetrize(W, "mean")
    if not W.nnz:
        raise InputError(f"--graph {name}: no two rows are joined. Give a graph with edges.")
    alone = int((np.diff(W.indptr) == 0).sum())
    found, other = ("distances", WEIGHTS) if is_distance else ("weights", DISTANCES)
    sentences = [
        f"Candidates over a graph use yours: {W.nnz // 2} edges between {n_rows} rows, its "
        f"numbers taken as {found} (--graph {other}{name} takes them as {other[:-1]})."
    ]
    if alone:
        words = counted(alone, "row", "has", "have")
        sentences.append(f"{words} no edge; only candidates without a graph can use them.")
    return sparse.csr_array(W / W.max()), sentences


def weights_of_distances(D: sparse.csr_array) -> sparse.csr_array:
    """Return ``exp(-d^2 / (s_i s_j))``, ``s`` each row's median distance (Zelnik-Manor, Perona).

    >>> D = sparse.csr_array([[0, 1.0], [1.0, 0]])
    >>> weights_of_distances(D).toarray().round(3).tolist()
    [[0.0, 0.368], [0.368, 0.0]]
    """
    D = sparse.csr_array(D, copy=True)
    rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    positive = D.data[D.data > 0]
    scales = np.full(D.shape[0], float(np.median(positive)) if len(positive) else 1.0)
    for i in range(D.shape[0]):
        own = D.data[D.indptr[i] : D.indptr[i + 1]]
        if (own > 0).any():
            scales[i] = np.median(own[own > 0])
    D.data = np.exp(-(D.data**2) / (scales[rows] * scales[D.indices]))
    return D


def _read(name, file) -> sparse.csr_array:
    if name.startswith(OBSP):
        return sparse.csr_array(read_pairs(file, name.removeprefix(OBSP)))
    path = arrays.existing_file(name)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        source = arrays.open_source(path)
        G = source.read(arrays.pick_array(path, source, None))
    elif suffix == ".mtx":
        G = arrays.read_mtx(path)
    elif suffix == ".npy":
        G = arrays.read_npy(path)
    else:
        raise InputError(
            f"--graph {name}; allowed: .npz (scipy.sparse.save_npz), .mtx and .npy files, and "
            "obsp:NAME of an .h5ad file."
        )
    return sparse.csr_array(G, dtype=np.float64)


def _check(G, name, n_rows):
    if G.shape != (n_rows, n_rows):
        raise InputError(
            f"--graph {name}: has {G.shape[0]} x {G.shape[1]} numbers; expected: {n_rows} x "
            f"{n_rows}, one row and one column for each row of the file, in its order."
        )
    wrong = ~((G.data >= 0) & (G.data <= LARGEST_NUMBER))
    if wrong.any():
        found = G.data[np.flatnonzero(wrong)[0]]
        raise InputError(
            f"--graph {name}: holds {found}; allowed: numbers from 0 to {LARGEST_NUMBER:.0e}."
        )
