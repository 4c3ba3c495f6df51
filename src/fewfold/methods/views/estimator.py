"""A classifier of images that joins several views, and answers new images without a graph."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import softmax

from fewfold.exceptions import InputError
from fewfold.methods.candidate import CandidateClassifier
from fewfold.methods.parameters import boolean, count, list_of, positive
from fewfold.methods.state import Field, Setting
from fewfold.methods.views import answers
from fewfold.methods.views.description import (
    RIDGE,
    as_seen,
    describe,
    edge_features,
    graphs_of,
    n_color_features,
    random_blocks,
    random_features,
)

# Of scores: the one with which they tell best, as probabilities, the classes of rows left out.
_FACTORS = np.geomspace(1, 64, 25)


def _mean(joined, learned, rows):
    """Return the mean of two answers for all rows; of labeled rows the first."""
    answer = (joined + learned) / 2
    answer[rows] = joined[rows]
    return answer


@dataclass(eq=False, repr=False)
class ImageViewsClassifier(CandidateClassifier):
    """Label images from a few by several views of them.

    Images that lie at any angle, judged without labels, are turned upright by their moments.
    Labels are diffused over the invariant graph and over a graph of orientation histograms, near
    and far; beside them stands a classifier of the labels alone. Their weights are those that
    explain held-out labels best (with one label per class: how few edges of its graph leave the
    classes of an answer). Ridge regression on random Fourier features of the histograms then
    learns the answer for all rows. What it says of each image without that image (exact
    leave-one-out) is averaged with the answer; the regression learns the average, and what it
    then says is averaged with the first answer instead. It labels new images without the graph.

    Parameters
    ----------
    image_shape : tuple of int, optional
        ``(h, w)`` or ``(h, w, channels)``; ``(length,)`` for a series. Without it, and for
        series, rows are their own features.
    n_random : int, optional
        Random Fourier features; by default a fifth of the rows, from 1000 to 8000.
    ridge : float
        Penalty of the regression on all rows, in units of the mean squared length of a row's
        random features.
    random_state : int

    Attributes
    ----------
    classes_, transduction_, label_distributions_ : see `CandidateClassifier`
    details_ : dict
        The weight of each view's diffusions and of the labels' classifier.

    Notes
    -----
    Preparing costs two graphs, twice ``n n_random^2`` and ``n_random^3 / 3``; a fit some 40
    diffusions and the random features of all rows, five times.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, digit = load_digits(return_X_y=True)
    >>> y = np.full(len(X), -1)
    >>> y[:100] = digit[:100]
    >>> model = ImageViewsClassifier(image_shape=(8, 8), n_random=300).fit(X, y)
    >>> bool(np.mean(model.transduction_ == digit) > 0.95)
    True
    """

    _learned = (
        Field("mean_", "float", ("q",)),
        Field("axes_", "float", ("q", "c")),
        Field("frequencies_", "float", ("c", "f")),
        Field("coef_", "float", ("z", "p")),
        Setting("image_shape_", list_of(count()), optional=True),
        Setting("sharpness_", positive()),
        Setting("turned_", boolean()),
    )

    image_shape: object = None
    _: KW_ONLY
    n_random: object = None
    ridge: float = RIDGE
    random_state: int = 0

    def prepare(self, X) -> dict:
        """Compute graphs and features, to be given to `fit` as ``shared``."""
        return describe(
            X,
            self.image_shape,
            n_random=self.n_random,
            ridge=self.ridge,
            seed=self.random_state or 0,
        )

    def fit(self, X, y, *, shared=None, manifold=None):
        """Learn from all rows, and label them.

        Parameters
        ----------
        X, y, shared : see `CandidateClassifier.fit`
        manifold : ManifoldModel, optional
            What `prepare` computes, from its stage.
        """
        if shared is None and manifold is not None:
            shared = {name: np.asarray(values) for name, values in manifold.arrays.items()}
        return super().fit(X, y, shared=shared)

    def _learn(self, X, shared, rows, codes):
        self.image_shape_ = None if self.image_shape is None else [int(s) for s in self.image_shape]
        self.turned_ = bool(shared["turned"])
        self.mean_, self.axes_ = shared["mean"], shared["axes"]
        self.frequencies_ = shared["frequencies"]
        joined = self._joined(shared, rows, codes)
        joined[rows] = np.eye(joined.shape[1])[codes]
        answer = joined
        learned = self._fit_rows(shared, joined)
        # What is not an image has no histograms: its features know no invariance, unlike its graph.
        if self.image_shape_ is not None and len(self.image_shape_) > 1:
            # The regression learns once more from both, and is then heard instead of the first.
            learned = self._fit_rows(shared, _mean(joined, learned, rows))
            answer = _mean(joined, learned, rows)
        self._answer = answer

    def _joined(self, shared, rows, codes):
        """Return the weighted answer of all views and of the labels' classifier, (n, k)."""
        k, graphs = len(self.present_), graphs_of(shared)
        judged = np.flatnonzero(np.bincount(codes)[codes] > 1)
        held_out = None
        if len(judged):
            both = [answers.held_out_diffusions(W, rows, codes, k) for W in graphs]
            by_view = [whole for whole, _ in both]
            held_out = np.concatenate([held_out for _, held_out in both])
        else:
            by_view = [answers.diffusions(W, rows, codes, k) for W in graphs]
        prior = answers.member_shares(answers.answer_shares(graphs, by_view), held_out is not None)
        z = random_features(shared["points"][rows], self.frequencies_)
        if len(judged) > answers.MOST_JUDGED:
            rng = np.random.default_rng(self.random_state or 0)
            judged = rng.choice(judged, answers.MOST_JUDGED, replace=False)
        everything = judged if len(judged) else np.arange(len(codes))
        coef, left_out = answers.fit_labels(z, codes, k, everything)
        weights, exponents = prior, np.ones(len(prior))
        if held_out is not None:
            said = [*answers.log_of(held_out[:, judged]), left_out * answers.SCORE_SCALE]
            exponents = [answers.choose_exponent(scores, codes[judged]) for scores in said]
            said = np.array([softmax(s * e, axis=1) for s, e in zip(said, exponents)])
            likelihoods = said[:, np.arange(len(judged)), codes[judged]]
            weights = answers.mixture_weights(likelihoods, prior, answers.prior_strength(k))
        self.weights_ = weights
        scores = [answers.log_of(answer) for view in by_view for answer in view]
        if weights[-1] > 0:  # its features of all rows cost as much as the diffusions
            coef = (coef * answers.SCORE_SCALE).astype(np.float32)
            scores.append(np.concatenate([z @ coef for z in self._blocks(shared)]))
        return sum(w * softmax(s * e, axis=1) for w, s, e in zip(weights, scores, exponents))

    def _fit_rows(self, shared, answer):
        """Fit the regression to the classes of all rows; return what it says of each without it."""
        classes, k = answer.argmax(axis=1), answer.shape[1]
        goal = np.eye(k, dtype=np.float32)[classes] - np.float32(1 / k)
        right, start = 0.0, 0
        for z in self._blocks(shared):
            right = right + z.T @ goal[start : start + len(z)]
            start += len(z)
        self.coef_ = cho_solve((np.asarray(shared["factor"]), True), right / np.float32(start))
        scores = np.concatenate([z @ self.coef_ for z in self._blocks(shared)])
        own = np.asarray(shared["leverage"])[:, None]
        scores = (scores - own * goal) / (1 - own)
        here = np.arange(len(classes)), classes
        losses = [-np.log(softmax(scores * f, axis=1)[here] + 1e-9).mean() for f in _FACTORS]
        self.sharpness_ = float(_FACTORS[int(np.argmin(losses))])
        return softmax(scores * self.sharpness_, axis=1)

    def _blocks(self, shared):
        return random_blocks(np.asarray(shared["points"]), self.frequencies_)

    def _proba(self, X, shared, rows):
        if shared is not None:
            return self._answer[rows]
        images, shape = as_seen(X, self.image_shape_, self.turned_)
        points = (edge_features(images, shape) - self.mean_) @ self.axes_
        scores = random_features(points, self.frequencies_) @ self.coef_
        return softmax(scores.astype(np.float64) * self.sharpness_, axis=1)

    def _details(self):
        if len(self.present_) < 2:
            return {}
        views = ["edges"] if self.image_shape is None else ["invariant", "edges"]
        views += ["edges_and_colors"] * bool(n_color_features(self.image_shape))
        names = [f"{view}_{diffusion}" for view in views for diffusion in answers.DIFFUSIONS]
        found = {name: round(float(w), 4) for name, w in zip(names, self.weights_[:-1])}
        turned = {"turned_upright": True} if self.turned_ else {}
        return found | {"labels": round(float(self.weights_[-1]), 4)} | turned

    def _check(self):
        shape = self.image_shape_
        size = self.n_features_in_ if shape is None else int(np.prod(shape))
        if size != self.n_features_in_ or len(self.coef_) != 2 * self.frequencies_.shape[1]:
            raise InputError(
                f"{type(self).__name__}: image_shape {shape}, {self.n_features_in_} columns and "
                f"{len(self.coef_)} coefficients do not fit together."
            )
        nothing = as_seen(np.zeros((1, size), np.float32), shape, False)
        if edge_features(*nothing).shape[1] != len(self.mean_):
            raise InputError(f"{type(self).__name__}: 'mean_' does not fit image_shape {shape}.")
