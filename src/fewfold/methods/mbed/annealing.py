"""Algorithm 1 of [mbed]: radius, small start, annealing of lambda and of label confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fewfold.methods.mbed.cost import class_terms, log_memberships, simplex_directions
from fewfold.methods.mbed.optimize import conjugate_gradients

# Rounding error of the float32 SNE value per point, measured (benchmarks/mbed_speed.py precision).
_NOISE = 2e-8
# The same for sampled normalizers, whose value may rise a little along a good step.
_SAMPLING_NOISE = 1e-3


@dataclass
class Problem:
    """The embedding problem, apart from P.

    Attributes
    ----------
    n : int
        Points.
    n_classes, n_components : int
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)
        Class probabilities of the labeled points before their confidence is annealed.
    prior : ndarray of shape (K,) or None
    weight : float
        Factor of the Jensen-Shannon term; 1 in the paper.
    """

    n: int
    n_classes: int
    n_components: int
    labeled: np.ndarray
    targets: np.ndarray
    prior: np.ndarray | None = None
    weight: float = 1.0
    directions: np.ndarray = field(init=False)

    def __post_init__(self):
        self.directions = simplex_directions(self.n_classes, self.n_components)


@dataclass
class Step:
    """One annealing step, kept for the report.

    Attributes
    ----------
    Y : ndarray of shape (n, d), float32
    lam, confidence : float
    cost : float
    criterion : float
        The Hotelling-Lawley trace J.
    n_gradients : int
    share_fitted : float
        Share of the labeled points that lie on the side of their label; 1 without labels.
    """

    Y: np.ndarray
    lam: float
    confidence: float
    cost: float
    criterion: float
    n_gradients: int
    share_fitted: float = 1.0


@dataclass
class Path:
    """All steps of a run; ``best`` is the one kept (`kept_step`)."""

    radius: float
    steps: list[Step]
    best: int

    @property
    def kept(self) -> Step:
        """The step kept."""
        return self.steps[self.best]

    @property
    def n_gradients(self) -> int:
        """Gradients computed in all steps."""
        return sum(step.n_gradients for step in self.steps)


def lambda_schedule(radius: float, n_steps: int) -> np.ndarray:
    """``lambda`` from ``20 r`` to ``r / 5`` in equal ratios (line 7, with p the step count)."""
    return 2 * radius * 10 / 100 ** np.linspace(0, 1, n_steps)


def confidence(lam: float, distance: float, n_classes: int) -> float:
    """Membership of a point at ``distance`` along its class's direction (Eq. 21)."""
    K = n_classes
    return float(1 / (1 + (K - 1) * np.exp(-distance / lam * K / (K - 1)))) if K > 1 else 1.0


def soften(targets: np.ndarray, tau: float) -> np.ndarray:
    """Targets at confidence ``tau``: a sure label gives tau, the others share the rest.

    Line 9 as it must read for K > 2: ``t tau + (1 - t) (1 - tau) / (K - 1)``.
    """
    K = targets.shape[1]
    return targets * tau + (1 - targets) * (1 - tau) / max(1, K - 1)


def radius_of(Y: np.ndarray) -> float:
    """Geometric mean of the standard deviations of the components."""
    return float(np.exp(np.log(np.maximum(Y.std(axis=0), 1e-12)).mean()))


def hotelling_lawley(Y: np.ndarray, classes: np.ndarray) -> float:
    """Trace of (between-class) (within-class covariance)^-1, Eq. 20; 0 with a single class.

    Examples
    --------
    >>> import numpy as np
    >>> round(hotelling_lawley(np.array([[0.0], [2.0], [10.0], [12.0]]), [0, 0, 1, 1]), 3)
    25.0
    """
    classes = np.asarray(classes)
    Y = np.asarray(Y, np.float64)
    Y = Y - Y.mean(axis=0)
    within, between = np.zeros((2, Y.shape[1], Y.shape[1]))
    present = np.unique(classes)
    if len(present) < 2:
        return 0.0
    for k in present:
        rows = Y[classes == k]
        mean = rows.mean(axis=0)
        between += len(rows) * np.outer(mean, mean)
        within += (rows - mean).T @ (rows - mean)
    ridge = 1e-9 * np.trace(within + between) / len(within)
    return float(np.trace(np.linalg.solve(within + ridge * np.eye(len(within)), between)))


def kept_step(steps: list[Step], only_fitted: bool) -> int:
    """Return the step of the largest criterion J (line 12).

    Parameters
    ----------
    steps : list of Step
    only_fitted : bool
        Whether only the steps count that fit as many labeled points as any step does. The first
        steps are short and not converged: they can have the largest J with a tenth of the labeled
        points on wrong sides.
    """
    most = max(step.share_fitted for step in steps) if only_fitted else 0
    return max(
        (number for number, step in enumerate(steps) if step.share_fitted >= most),
        key=lambda number: steps[number].criterion,
    )


def anneal(
    sne: Callable,
    problem: Problem,
    rng: np.random.Generator,
    *,
    n_steps: int = 20,
    n_first: int = 10,
    n_total: int = 500,
    start: np.ndarray | None = None,
    label_distance: float = 2.0,
    only_fitted: bool = False,
) -> Path:
    """Run Algorithm 1.

    Parameters
    ----------
    sne : callable
        ``sne(Y) -> (value, gradient)`` of the SNE term.
    problem : Problem
    rng : numpy Generator
    n_steps : int
        Annealing steps, the radius counted as the first.
    n_first, n_total : int
        Conjugate-gradient steps for the radius, and in all.
    start : ndarray of shape (n, d), optional
        Start instead of small random positions; only its shape counts, it is scaled down.
    label_distance : float
        Distance from the origin, in radii, that the confidence in a label stands for: 2 by
        Section 6 of the paper, 1 by its Eq. 21 and line 8.
    only_fitted : bool
        See `kept_step`.

    Returns
    -------
    Path
    """
    shape = (problem.n, problem.n_components)
    resample = getattr(sne, "resample", None)
    options = {
        "noise": (_SAMPLING_NOISE if resample else _NOISE) * problem.n,
        "estimated": resample is not None,
    }
    first = conjugate_gradients(sne, rng.normal(0, np.sqrt(0.1), shape), n_first, **options)
    radius = radius_of(first.Y)
    Y = rng.normal(0, np.sqrt(1e-3 * radius), shape)
    if start is not None:
        Y = start * (np.sqrt(1e-3 * radius) / max(radius_of(start), 1e-12))
    lams = lambda_schedule(radius, n_steps - 1)
    budget = np.diff(np.linspace(0, n_total - n_first, n_steps).round().astype(int))
    steps, step = [], None
    for lam, count in zip(lams, budget):
        if resample:
            resample()
        tau = confidence(lam, label_distance * radius, problem.n_classes)
        targets = soften(problem.targets, tau)

        def cost(Y, lam=lam, targets=targets):
            value, gradient = sne(Y)
            more, more_gradient = class_terms(
                Y, problem.directions, lam, problem.labeled, targets, problem.prior, problem.weight
            )
            return value + more, gradient + more_gradient

        found = conjugate_gradients(cost, Y, int(count), first_step=step, **options)
        Y, step = found.Y, found.step
        classes = log_memberships(Y, problem.directions, lam).argmax(axis=1)
        given = problem.targets.argmax(axis=1)
        fitted = float(np.mean(classes[problem.labeled] == given)) if len(given) else 1.0
        # A labeled point counts for its label: an embedding with classes swapped scores low.
        classes[problem.labeled] = given
        J = hotelling_lawley(Y, classes)
        steps.append(
            Step(Y.astype(np.float32), float(lam), tau, found.value, J, found.n_gradients, fitted)
        )
    return Path(radius, steps, kept_step(steps, only_fitted))
