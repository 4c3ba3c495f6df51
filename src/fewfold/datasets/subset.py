"""Options that every published dataset shares: which part, which classes, how many rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fewfold.datasets.base import Dataset
from fewfold.datasets.registry import Entry, unknown_name
from fewfold.exceptions import InputError

PARTS = ("all", "train", "test")


@dataclass(frozen=True)
class Selection:
    """A choice of rows (and size of images) of a published dataset."""

    entry: Entry
    part: str = "all"
    classes: tuple[str, ...] | None = None
    n_samples: int | None = None
    seed: int = 0
    image_size: tuple[int, int] | None = None
    rotated: bool = False
    merge: tuple[tuple[str, ...], ...] | None = None
    noise: float = 0.0

    @staticmethod
    def known(entry: Entry) -> list[str]:
        """Names of the options that fit a dataset."""
        common = ["part", "classes", "n_samples", "seed", "merge"]
        common += [] if entry.sparse else ["noise"]
        return [*common, "image_size", "rotated"] if entry.image_shape else common

    @classmethod
    def split(cls, entry: Entry, options: dict) -> tuple[Selection, dict]:
        """Take the shared options out of all options; return the rest too."""
        known = cls.known(entry)
        own = {k: v for k, v in options.items() if k in known}
        rest = {k: v for k, v in options.items() if k not in known}
        for key in ("classes", "image_size"):
            if own.get(key) is not None:
                own[key] = tuple(own[key])
        if own.get("classes") is not None:
            own["classes"] = tuple(str(c) for c in own["classes"])
        if own.get("merge") is not None:
            own["merge"] = tuple(tuple(str(c) for c in group) for group in own["merge"])
        selection = cls(entry, **own)
        selection._check()
        return selection, rest

    def _check(self) -> None:
        self._check_part()
        self._check_classes()
        self._check_numbers()

    def _refuse(self, option: str, value, allowed: str) -> InputError:
        return InputError(f"dataset {self.entry.name}: {option}={value!r}{allowed}")

    def _check_part(self) -> None:
        if self.part not in PARTS:
            raise self._refuse("part", self.part, f"; allowed: {', '.join(PARTS)}.")
        if self.part != "all" and "test" not in self.entry.counts:
            why = ", but it has no official test rows. Leave part out."
            raise self._refuse("part", self.part, why)

    def _check_classes(self) -> None:
        for label in self.classes or ():
            if label not in self.entry.classes:
                what = f"class of dataset {self.entry.name}:"
                raise unknown_name(what, label, self.entry.classes)
        if self.merge is None:
            return
        kept = self.entry.classes if self.classes is None else self.classes
        if sorted(c for group in self.merge for c in group) != sorted(kept):
            allowed = f"; allowed: groups in which each of the classes {', '.join(kept)} is once."
            raise self._refuse("merge", [list(group) for group in self.merge], allowed)

    def _check_numbers(self) -> None:
        n, size = self.n_samples, self.image_size
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
            raise self._refuse("n_samples", n, "; allowed: a whole number of at least 1.")
        if isinstance(self.noise, bool) or not 0 <= self.noise <= 10:
            allowed = (
                "; allowed: a share of the range of values, from 0 to 10 (0.1: a standard "
                "deviation of a tenth of it)."
            )
            raise self._refuse("noise", self.noise, allowed)
        if size is not None and (len(size) != 2 or not all(1 <= s <= 512 for s in size)):
            raise self._refuse("image_size", list(size), "; allowed: [height, width] of 1 to 512.")

    def class_codes(self) -> list[int]:
        """Codes (in the whole dataset) of the classes kept, in the dataset's order."""
        kept = self.entry.classes if self.classes is None else self.classes
        return [i for i, c in enumerate(self.entry.classes) if c in kept]

    def counts(self) -> tuple[int, int]:
        """Rows and test rows of the selection, from the registry alone."""
        codes = self.class_codes()
        total = {part: sum(rows[i] for i in codes) for part, rows in self.entry.counts.items()}
        n_test = total.get("test", 0) if self.part != "train" else 0
        rest = sum(v for k, v in total.items() if k != "test") if self.part != "test" else 0
        if self.n_samples is not None:
            rest = min(rest, self.n_samples)
        return rest + n_test, n_test

    def apply(self, data: Dataset) -> Dataset:
        """Carry out the selection on the loaded dataset."""
        keep = np.ones(data.n_samples, dtype=bool)
        test = data.test_mask if data.test_mask is not None else np.zeros_like(keep)
        if self.part != "all":
            keep &= test if self.part == "test" else ~test
        codes = self.class_codes()
        if self.classes is not None:
            keep &= np.isin(data.y, codes)
        rest = np.flatnonzero(keep & ~test)
        if self.n_samples is not None and self.n_samples < len(rest):
            rng = np.random.default_rng(self.seed)
            dropped = rng.permutation(rest)[self.n_samples :]
            keep[dropped] = False
        if not keep.all():
            data = data.take(np.flatnonzero(keep))
        if self.classes is not None:
            data = replace(
                data,
                y=np.searchsorted(codes, data.y).astype(np.int64),
                classes=[self.entry.classes[i] for i in codes],
            )
        if self.image_size is not None:
            data = _resized(data, self.image_size)
        if self.rotated:
            from fewfold.transforms.rotated import rotated_images

            data = replace(data, X=rotated_images(data.X, data.image_shape, self.seed))
        if self.merge is not None:
            data = _merged(data, self.merge)
        if self.noise:
            data = replace(data, X=noisy(data.X, self.noise, self.seed))
        return data

    @property
    def n_classes(self) -> int:
        """Classes of the selection, merged ones counted once."""
        return len(self.class_codes()) if self.merge is None else len(self.merge)


def noisy(X: np.ndarray, noise: float, seed: int) -> np.ndarray:
    """Add Gaussian noise whose standard deviation is a share of the range of all values."""
    X = np.asarray(X, dtype=np.float32)
    spread = noise * float(X.max() - X.min())
    return X + np.float32(spread) * np.random.default_rng(seed).standard_normal(X.shape, np.float32)


def _merged(data: Dataset, groups) -> Dataset:
    """Put groups of classes together: digits 0-4 against 5-9, say."""
    code = {data.classes.index(c): g for g, group in enumerate(groups) for c in group}
    y = np.array([code.get(int(v), -1) for v in data.y], dtype=np.int64)
    return replace(data, y=y, classes=["+".join(group) for group in groups])


def _resized(data: Dataset, size: tuple[int, int]) -> Dataset:
    X = resize_images(data.X, data.image_shape, size)
    return replace(data, X=X, image_shape=tuple(size), feature_names=None)


def resize_images(X: np.ndarray, shape, size) -> np.ndarray:
    """Resize images by area: each new pixel is the mean of what it covers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, height * width)
        Images, row by row.
    shape, size : tuple of int
        Old and new (height, width).

    Returns
    -------
    float32 ndarray of shape (n_samples, size[0] * size[1])

    Examples
    --------
    >>> import numpy as np
    >>> resize_images(np.array([[0.0, 2.0, 4.0, 6.0]]), (2, 2), (1, 1))
    array([[3.]], dtype=float32)
    """
    rows, columns = (_area_matrix(old, new) for old, new in zip(shape, size))
    out = np.empty((len(X), size[0] * size[1]), dtype=np.float32)
    for start in range(0, len(X), 4096):
        block = X[start : start + 4096].astype(np.float32).reshape(-1, *shape)
        out[start : start + 4096] = (rows @ block @ columns.T).reshape(len(block), -1)
    return out


def _area_matrix(old: int, new: int) -> np.ndarray:
    """Share of each old pixel in each new one along one axis; rows sum to 1."""
    edges = np.arange(new + 1) * (old / new)
    left = np.maximum(edges[:-1, None], np.arange(old))
    right = np.minimum(edges[1:, None], np.arange(1, old + 1))
    overlap = np.clip(right - left, 0, None)
    return (overlap / overlap.sum(axis=1, keepdims=True)).astype(np.float32)
