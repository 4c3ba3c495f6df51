"""The labels that follow each answer: diffusion and a kernel classifier, weighed by the answers.

The diffusion is brought up to date with every answer. The kernel classifier and the weights are
learned again when there are a twentieth more labels. Weights and sharpness come from the answers
that both give to each labeled row without its label (`fewfold.labeling.stacking`).
"""

from __future__ import annotations

import numpy as np

from fewfold.labeling.stacking import Stack, fit_stack
from fewfold.session.live import LiveDiffusion
from fewfold.session.live_kernel import LiveKernel

LEAST_LABELS = 6  # from which the kernel classifier is learned
GROWTH = 1.05  # of the labels until it is learned again
FIRST = (0.75, 0.25)  # weights without evidence


class LiveAnswer:
    """Class probabilities of all rows that follow each answer.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    n_classes : int
    X : array or csr_array of shape (n, d), optional
        Features of the kernel classifier; without them the diffusion answers alone.
    responses : ndarray of shape (n, n), optional
        See `fewfold.session.live.LiveDiffusion`.
    """

    def __init__(self, W, n_classes: int, X=None, responses=None):
        self.diffusion = LiveDiffusion(W, n_classes, responses)
        self.kernel = None if X is None else LiveKernel(X)
        self._stack: Stack | None = None
        self._fitted_to = self._proba = None

    @property
    def weights(self) -> tuple[float, float]:
        """Of the diffusion and of the kernel classifier."""
        return (1.0, 0.0) if self._stack is None else tuple(map(float, self._stack.weights))

    def add_class(self) -> None:
        """Make room for one more class."""
        self.diffusion.add_class()
        self._fitted_to = self._proba = None

    def start(self, rows, codes) -> None:
        """Add many labels at once."""
        self.diffusion.start(rows, codes)
        self._fitted_to = self._proba = None

    def add(self, row: int, code: int) -> None:
        """Add a label, or change one."""
        if self.diffusion.knows(row):
            self._fitted_to = None  # learned from a label that was taken back
        self.diffusion.add(row, code)
        self._proba = None

    def remove(self, row: int) -> None:
        """Take a label back."""
        self.diffusion.remove(row)
        self._fitted_to = self._proba = None

    def proba(self) -> np.ndarray:
        """Return the class probabilities of all rows."""
        if self._proba is None:
            self._refresh()
            self._proba = self.diffusion.proba()
            if self._stack is not None:
                self._proba = self._stack.combine([self._proba, self.kernel.proba()])
        return self._proba

    def _refresh(self):
        """Learn the kernel classifier and the weights, if there are enough new labels."""
        count = self.diffusion.n_labels
        if self.kernel is None or (
            self._fitted_to is not None and count < max(GROWTH * self._fitted_to, LEAST_LABELS)
        ):
            return
        self._fitted_to, self._stack = count, None
        rows, codes = self.diffusion.labels()
        if count < LEAST_LABELS or len(np.unique(codes)) < 2:
            return
        self.kernel.fit(rows, codes, self.diffusion.n_classes)
        judged = self.diffusion.can_leave_out(self.kernel.rows)
        if not judged.any():
            return
        codes = codes[-len(self.kernel.rows) :][judged]
        alone = self.diffusion.left_out(self.kernel.rows[judged])
        self._stack = fit_stack([alone, self.kernel.left_out[judged]], codes, np.array(FIRST))

    def shares(self, row: int, code: int) -> list[tuple[int, float]]:
        """Return the share of each label in a row's answer, the largest first.

        The mean, by the weights, of the shares in both scores for the class; in each the absolute
        values sum to 1, and negative ones speak against.
        """
        total: dict[int, float] = {}
        for weight, model in zip(self.weights, (self.diffusion, self.kernel)):
            parts = model.shares(row, code) if weight > 0 else []
            size = sum(abs(part) for _, part in parts) or 1.0
            for label, part in parts:
                total[label] = total.get(label, 0.0) + weight * part / size
        return sorted(total.items(), key=lambda item: -abs(item[1]))
