"""Label diffusion over the graph, updated after each answer.

Poisson learning is linear in its sources: the scores of a class are the sum of the responses to
its labeled rows. A new answer adds one response, an undone answer subtracts it. Responses are
symmetric, so the response of a row also gives each label's contribution to that row's scores.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from scipy.special import softmax

from fewfold.methods.diffusion.solver import Solver
from fewfold.methods.diffusion.spreading import softmax_scale

TOL = 1e-6
KEPT_BYTES = 256 * 2**20  # size of the cache of responses
MOST_LEFT_OUT = 100  # initial labels whose own responses are computed


class LiveDiffusion:
    """Class probabilities of all rows, updated after each answer.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    n_classes : int
    responses : ndarray of shape (n, n), optional
        All responses, if already computed.

    Examples
    --------
    >>> from scipy import sparse
    >>> path = sparse.csr_array(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    >>> live = LiveDiffusion(path, 2)
    >>> live.add(0, 0)
    >>> live.add(3, 1)
    >>> live.proba().argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """

    def __init__(self, W, n_classes: int, responses=None):
        self._solver = Solver(W, tol=TOL)
        self._all = responses
        self._known: OrderedDict[int, np.ndarray] = OrderedDict()
        self._sums = np.zeros((W.shape[0], n_classes))
        self._code: dict[int, int] = {}
        self._own: dict[int, float] = {}  # labeled row: its response to itself
        self._proba = None

    @property
    def n_classes(self) -> int:
        """Number of classes so far."""
        return self._sums.shape[1]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self._code)

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the labeled rows, in the order in which they were added, and their codes."""
        rows = np.fromiter(self._code, dtype=np.int64)
        return rows, np.fromiter(self._code.values(), dtype=np.int64)

    def knows(self, row: int) -> bool:
        """Whether a row is labeled."""
        return row in self._code

    def add_class(self) -> None:
        """Add a class."""
        self._sums = np.column_stack([self._sums, np.zeros(len(self._sums))])
        self._proba = None

    def start(self, rows, codes) -> None:
        """Add many labels at once: one solve per class."""
        B = np.zeros_like(self._sums)
        B[rows, codes] = 1.0
        used = np.unique(codes)
        if len(used):
            self._sums[:, used] += self._solver.respond(B[:, used])
        self._code.update(zip(map(int, rows), map(int, codes)))
        some = np.asarray(rows)[:MOST_LEFT_OUT]
        if len(some):
            own = self._solver.solve(some) if self._all is None else self._all[:, some]
            self._own.update(zip(map(int, some), own[some, np.arange(len(some))]))
        self._proba = None

    def response(self, row: int) -> np.ndarray:
        """Return the responses of all rows to a source at one row (cached)."""
        if self._all is not None:
            return self._all[:, row]
        if row not in self._known:
            self._known[row] = self._solver.solve([row])[:, 0]
            while len(self._known) * self._sums.shape[0] * 8 > KEPT_BYTES and len(self._known) > 8:
                self._known.popitem(last=False)
        self._known.move_to_end(row)
        return self._known[row]

    def add(self, row: int, code: int) -> None:
        """Add a label, or change one."""
        if row in self._code:
            self.remove(row)
        response = self.response(row)
        self._sums[:, code] += response
        self._code[row], self._own[row] = code, response[row]
        self._proba = None

    def remove(self, row: int) -> None:
        """Remove a label."""
        self._sums[:, self._code.pop(row)] -= self.response(row)
        self._proba = None

    def _counts(self):
        counts = np.zeros((self._solver.component.max() + 1, self.n_classes))
        if self._code:
            rows, codes = self.labels()
            np.add.at(counts, (self._solver.component[rows], codes), 1.0)
        return counts

    def proba(self) -> np.ndarray:
        """Return the class probabilities of all rows, each class a source of strength 1."""
        if self._proba is None:
            self._proba = self._find_proba()
        return self._proba

    def _find_proba(self):
        n, k = self._sums.shape
        if not self._code:
            return np.full((n, k), 1 / max(k, 1))
        counts = self._counts()
        per_class, total = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
        component, several = self._solver.component, len(total) > 1
        mean = counts / np.maximum(total, 1)
        everywhere = self._sums.sum(axis=1, keepdims=True)
        values = self._sums - everywhere * (mean[component] if several else mean)
        values /= np.maximum(per_class, 1)
        single = ((total[:, 0] > 0) & (counts.max(axis=1) == total[:, 0]))[component]
        if single.any():  # labels of one class only: the sources are zero
            values[single] = mean[component[single]] * max(
                np.abs(values[~single]).max(initial=0), 1
            )
        found = np.zeros((n, k))
        seen = per_class > 0
        part = values[:, seen]
        self._scale = softmax_scale(part)
        found[:, seen] = softmax(part * self._scale, axis=1)
        lost = (total[:, 0] == 0)[component]
        found[lost] = seen / max(seen.sum(), 1)
        return found

    def can_leave_out(self, rows) -> np.ndarray:
        """Return for which labeled rows `left_out` is available."""
        return np.array([int(row) in self._own for row in rows], dtype=bool)

    def left_out(self, rows) -> np.ndarray:
        """Return the class probabilities of labeled rows, of each without its own label.

        Exact except for the factor before the softmax, which is computed from all labels.
        """
        self.proba()
        codes = np.array([self._code[int(row)] for row in rows])
        own = np.array([self._own[int(row)] for row in rows])
        each, component = np.arange(len(rows)), self._solver.component[rows]
        sums, counts = self._sums[rows].copy(), self._counts()
        inside, per_class = counts[component], np.tile(counts.sum(axis=0), (len(rows), 1))
        for part, less in ((sums, own), (inside, 1.0), (per_class, 1.0)):
            part[each, codes] -= less
        total = inside.sum(axis=1, keepdims=True)
        values = sums - sums.sum(axis=1, keepdims=True) * inside / np.maximum(total, 1)
        values /= np.maximum(per_class, 1)
        found = softmax(np.where(per_class > 0, values * self._scale, -np.inf), axis=1)
        lost = (total[:, 0] == 0) | (inside.max(axis=1) == total[:, 0])
        found[lost] = inside[lost] + 1 / sums.shape[1]
        return found / found.sum(axis=1, keepdims=True)

    def shares(self, row: int, code: int) -> list[tuple[int, float]]:
        """Return each label's contribution to a row's score for a class, the largest first.

        Sums to the score before it is divided by the number of the class's labels.
        """
        component = self._solver.component
        near = [r for r in self._code if component[r] == component[row]]
        if not near:
            return []
        is_class = np.array([self._code[r] == code for r in near], dtype=float)
        parts = self.response(row)[near] * (is_class - is_class.mean())
        order = np.argsort(-np.abs(parts), kind="stable")
        return [(near[i], float(parts[i])) for i in order]
