"""Readers of the published files, one function per file family."""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path

import numpy as np

from fewfold.datasets.archives import gunzip
from fewfold.datasets.base import Dataset
from fewfold.datasets.registry import Entry
from fewfold.exceptions import DownloadError, InputError
from fewfold.system.memory import require


def read_digits(entry: Entry, paths: list[Path]) -> Dataset:
    """Read the 8 x 8 digits that scikit-learn carries; values 0..16."""
    from sklearn.datasets import load_digits

    data = load_digits()
    X = data.data.astype(np.float32)
    return _dataset(entry, X, data.target.astype(np.int64))


def parse_idx(data: bytes, path: Path | str) -> np.ndarray:
    """Read an IDX array of unsigned bytes.

    Parameters
    ----------
    data : bytes
        The unpacked file.
    path : Path or str
        Named in errors.
    """
    if len(data) < 4 or data[:3] != b"\x00\x00\x08" or not 1 <= data[3] <= 4:
        raise DownloadError(
            f"{path}: not an IDX file of bytes (starts with {data[:4]!r}). Remove it and fetch "
            "it again."
        )
    ndim = data[3]
    shape = np.frombuffer(data, dtype=">u4", count=ndim, offset=4).astype(np.int64)
    body = len(data) - 4 - 4 * ndim
    if int(np.prod(shape)) != body:
        raise DownloadError(
            f"{path}: header announces {'x'.join(map(str, shape))} bytes, the file holds {body}. "
            "Remove it and fetch it again."
        )
    return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * ndim).reshape(shape)


def read_mnist(entry: Entry, paths: list[Path]) -> Dataset:
    """Read MNIST: 60000 training rows, then 10000 test rows, uint8."""
    arrays = [
        parse_idx(gunzip(path, file.content_size), path) for path, file in zip(paths, entry.files)
    ]
    X = np.concatenate([arrays[0], arrays[2]]).reshape(-1, entry.n_features)
    y = np.concatenate([arrays[1], arrays[3]]).astype(np.int64)
    return _dataset(entry, X, y, test_mask=np.arange(len(y)) >= len(arrays[1]))


def read_usps(entry: Entry, paths: list[Path]) -> Dataset:
    """Read USPS: 7291 training rows, then 2007 test rows, float32 in [-1, 1]."""
    parts = [
        _number_table(gunzip(path, file.content_size), " ")
        for path, file in zip(paths, entry.files)
    ]
    table = np.concatenate(parts)
    y = table[:, 0].astype(np.int64)
    return _dataset(entry, table[:, 1:], y, test_mask=np.arange(len(y)) >= len(parts[0]))


def read_letter(entry: Entry, paths: list[Path]) -> Dataset:
    """Read LETTER: integers 0..15 as float32, the last 4000 rows being the usual test set."""
    data = gunzip(paths[0], entry.files[0].content_size)
    lines = data.decode("ascii").split()
    y = np.array([ord(line[0]) - ord("A") for line in lines], dtype=np.int64)
    numbers = "\n".join(line[2:] for line in lines).encode()
    names = [
        *("x-box", "y-box", "width", "height", "onpix", "x-bar", "y-bar", "x2bar"),
        *("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
    ]
    n_train = sum(entry.counts["train"])
    mask = np.arange(len(y)) >= n_train
    return _dataset(entry, _number_table(numbers, ","), y, test_mask=mask, feature_names=names)


def read_semeion(entry: Entry, paths: list[Path]) -> Dataset:
    """Read SEMEION: 256 binary pixels, then the class as ten 0/1 columns."""
    table = _number_table(gunzip(paths[0], entry.files[0].content_size), " ")
    X, onehot = table[:, : entry.n_features], table[:, entry.n_features :]
    return _dataset(entry, np.ascontiguousarray(X), onehot.argmax(axis=1).astype(np.int64))


def read_coil20(entry: Entry, paths: list[Path]) -> Dataset:
    """Read COIL-20 in the 32 x 32 version, turned from column to row order of pixels."""
    mat = load_mat(paths[0])
    return _dataset(
        entry,
        _upright(np.asarray(mat["fea"], dtype=np.float32), entry.image_shape),
        mat["gnd"].ravel().astype(np.int64) - 1,
    )


def read_lds(entry: Entry, paths: list[Path]) -> Dataset:
    """Read a set of the LDS code, with its published choices of labeled rows."""
    from scipy import sparse

    mat = load_mat(paths[0])
    X = mat["X"]
    X = sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
    raw = mat["y"].ravel().astype(np.int64)
    y = np.searchsorted([int(c) for c in entry.classes], raw).astype(np.int64)
    # The files count rows from 1.
    splits = mat["idxLabs"].astype(np.int64) - 1
    return _dataset(entry, X, y, label_splits=splits)


def load_mat(path: Path) -> dict:
    """Load a MATLAB 5 file, with one clear error when it cannot be read."""
    from scipy.io import loadmat, whosmat

    try:
        with warnings.catch_warnings():
            # scipy announces a change of its sparse type; we convert anyway.
            warnings.simplefilter("ignore")
            for name, shape, kind in whosmat(path):
                size = 8 * math.prod(shape) if kind != "sparse" else 0
                require(size, f"{path}[{name}]", f"{shape} values")
            return loadmat(path)
    except InputError:
        raise
    except Exception as error:  # scipy raises many kinds on damaged files
        raise DownloadError(
            f"{path}: not a readable MATLAB file ({type(error).__name__}: {error}). "
            "Remove it and fetch it again."
        ) from error


def _number_table(data: bytes, separator: str) -> np.ndarray:
    import pandas as pd

    sep = r"\s+" if separator == " " else separator
    frame = pd.read_csv(io.BytesIO(data), sep=sep, header=None, dtype=np.float32, engine="c")
    return frame.to_numpy()


def _upright(X: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    images = X.reshape(len(X), shape[1], shape[0])
    return np.ascontiguousarray(images.transpose(0, 2, 1)).reshape(len(X), -1)


def _dataset(entry: Entry, X, y: np.ndarray, **more) -> Dataset:
    return Dataset(
        name=entry.name,
        X=X,
        y=y,
        classes=list(entry.classes),
        image_shape=entry.image_shape,
        **more,
    )


READERS = {
    "coil20": read_coil20,
    "digits": read_digits,
    "lds": read_lds,
    "letter": read_letter,
    "mnist": read_mnist,
    "semeion": read_semeion,
    "usps": read_usps,
}
