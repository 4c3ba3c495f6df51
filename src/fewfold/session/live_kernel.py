"""A kernel classifier beside the diffusion, cheap enough to be fitted between answers.

Kernel least squares on one column per class (a least-squares SVM): the prediction for each labeled
row without its label has a closed form, so width and ridge are chosen, and the classifier weighted
against the diffusion, without a second fit (Cawley & Talbot 2004).
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from fewfold.svm.kernels import median_gamma, squared_distances

WIDTHS = (0.5, 2.0, 8.0)  # values of gamma, times 1 / median squared distance
RIDGES = (0.003, 0.03, 0.3, 3.0)
SHARPNESS = 4.0  # factor of the scores; recalibrated when candidates are combined
KEPT_BYTES = 256 * 2**20  # size of the cache of squared distances to labeled rows
LEAST_LABELS = 64


class LiveKernel:
    """Class probabilities of all rows by kernel least squares.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]], dtype=np.float32)
    >>> kernel = LiveKernel(X)
    >>> kernel.fit(np.array([0, 2]), np.array([0, 1]), 2)
    >>> kernel.proba().argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """

    def __init__(self, X):
        self.X, self.gamma = X, median_gamma(X)
        self._column: dict[int, int] = {}  # row: its column in the squared distances
        self._d2 = np.empty((X.shape[0], 0), dtype=np.float32)
        self.rows = np.empty(0, np.int64)
        self.left_out = self._values = None

    @property
    def most_labels(self) -> int:
        """Maximum number of labels used; if there are more, the latest."""
        return max(LEAST_LABELS, KEPT_BYTES // (4 * self.X.shape[0]))

    def fit(self, rows, codes, n_classes: int) -> None:
        """Fit to labels; ``left_out`` then holds each one's leave-one-out prediction."""
        rows, codes = rows[-self.most_labels :], codes[-self.most_labels :]
        self.rows = np.asarray(rows, dtype=np.int64)
        d2 = self._distances(self.rows)
        Y = np.full((len(rows), n_classes), -1 / n_classes)
        Y[np.arange(len(rows)), codes] += 1
        best = None
        for width in WIDTHS:
            # Adding 1 includes a constant function: the score of rows far from all labels.
            K = np.exp(-width * self.gamma * d2[self.rows].astype(np.float64)) + 1
            values, vectors = np.linalg.eigh(K)
            projected = vectors.T @ Y
            for ridge in RIDGES:
                shrunk = 1 / (np.maximum(values, 0) + ridge)
                dual = vectors @ (shrunk[:, None] * projected)
                inverse = (vectors**2) @ shrunk  # the diagonal of (K + ridge)^-1
                left_out = Y - dual / inverse[:, None]
                loss = np.mean((left_out - Y) ** 2)
                if best is None or loss < best[0]:
                    best = loss, width, left_out, dual, (vectors, shrunk)
        _, self._width, left_out, dual, self._inverse = best
        self._targets = Y
        self.left_out = softmax(SHARPNESS * left_out, axis=1)
        kernel = np.exp(np.float32(-self._width * self.gamma) * d2)
        scores = kernel @ dual.astype(np.float32) + dual.sum(axis=0)
        self._values = softmax(np.float32(SHARPNESS) * scores, axis=1)

    def _distances(self, rows):
        """Return the squared distances of all rows to some (cached)."""
        new = [row for row in rows.tolist() if row not in self._column]
        if new:
            if self._d2.shape[1] + len(new) > self.most_labels:
                self._column, new = {}, rows.tolist()
                self._d2 = self._d2[:, :0]
            more = squared_distances(self.X, self.X[new]).astype(np.float32)
            self._column |= {row: self._d2.shape[1] + i for i, row in enumerate(new)}
            self._d2 = np.concatenate([self._d2, more], axis=1)
        return self._d2[:, [self._column[row] for row in rows.tolist()]]

    def proba(self) -> np.ndarray:
        """Return the class probabilities of all rows."""
        return self._values

    def shares(self, row: int, code: int) -> list[tuple[int, float]]:
        """Return each label's contribution to a row's score for a class; they sum to the score."""
        vectors, shrunk = self._inverse
        d2 = self._d2[row, [self._column[r] for r in self.rows.tolist()]].astype(np.float64)
        k = np.exp(-self._width * self.gamma * d2) + 1
        parts = (vectors @ (shrunk * (vectors.T @ k))) * self._targets[:, code]
        return [(int(r), float(part)) for r, part in zip(self.rows, parts)]
