"""The candidates that ``fewfold label`` combines for classes, and the combined answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from fewfold.graph.build import GraphSettings, build_graph
from fewfold.labeling.first_weights import explained_by_neighbors, first_weights
from fewfold.labeling.leave_out import held_out_proba, solve_responses, to_proba
from fewfold.labeling.priors import (
    SURELY_EQUAL,
    chance_of_equal_classes,
    class_shares,
    factors_for_shares,
    with_factors,
)
from fewfold.labeling.stacking import FEW_LABELS, Stack, fit_stack, out_of_fold, stratified_folds
from fewfold.methods.cluster_kernel.estimator import ClusterKernelClassifier
from fewfold.methods.lds.estimator import LowDensityClassifier
from fewfold.methods.linear.estimator import LogisticClassifier
from fewfold.methods.trees.estimator import TreesClassifier

N_FOLDS = 10


@dataclass(frozen=True)
class Diffusion:
    """Labels that spread over the neighbor graph, every answer without a label exact.

    Attributes
    ----------
    priors : "labels", "equal" or None
        Shares that the classes are brought to; None leaves them free.
    method : {"poisson", "spreading"}
        Poisson learning needs few labels; spreading stays local.
    n_neighbors : int
    alpha : float
        Of spreading.
    """

    priors: str | None
    method: str = "poisson"
    n_neighbors: int = 10
    alpha: float = 0.95


@dataclass(frozen=True)
class Member:
    """One candidate: its name, its family, and the estimator (or diffusion)."""

    name: str
    family: str
    model: object
    shares_preparation_of: str | None = None


def _low_density(name, features):
    first = LowDensityClassifier(features)
    equal = LowDensityClassifier(features, priors="equal")
    family = "geodesic" if features == "geodesic" else "tsvm"
    return [Member(name, family, first), Member(f"{name}, equal classes", family, equal, name)]


def default_members(seed: int = 0) -> list[Member]:
    """Return the candidates that are combined for classes.

    >>> len({member.name for member in default_members()}) == len(default_members())
    True
    """
    members = [
        Member("extra trees", "trees", TreesClassifier("extra", random_state=seed)),
        Member("forest", "trees", TreesClassifier("forest", random_state=seed)),
    ]
    for C in (0.1, 1.0, 10.0):
        members.append(Member(f"logistic C={C:g}", "linear", LogisticClassifier(C=C)))
    for width, C in ((0.25, 10.0), (1.0, 10.0), (4.0, 10.0), (1.0, 100.0)):
        model = ClusterKernelClassifier(1, width=width, C=C, random_state=seed)
        members.append(Member(f"rbf width={width:g} C={C:g}", "rbf", model))
    for k in (2, 4, 10):
        model = ClusterKernelClassifier(k, random_state=seed)
        members.append(Member(f"clusters k={k}", "clusters", model))
    members += _low_density("low density", "geodesic")
    members += _low_density("linear TSVM", "linear")
    members += _low_density("rbf TSVM", "rbf")
    for priors in ("labels", "equal", None):
        members.append(Member(f"diffusion, {priors or 'free'}", "diffusion", Diffusion(priors)))
    return members


@dataclass
class Evidence:
    """What one candidate says: out of fold, and fitted to all labels.

    Attributes
    ----------
    held_out : ndarray of shape (m, k)
    answer : ndarray of shape (n, k) or None
    seconds : float
        CPU time of both.
    """

    held_out: np.ndarray
    answer: np.ndarray | None
    seconds: float


@dataclass
class Task:
    """Rows, labels, folds, and what candidates share."""

    X: np.ndarray
    rows: np.ndarray
    codes: np.ndarray
    n_classes: int
    seed: int = 0
    prepared: dict = field(default_factory=dict)

    def __post_init__(self):
        m = len(self.rows)
        rng = np.random.default_rng(self.seed)
        n_folds = m if m < FEW_LABELS else N_FOLDS
        self.folds = [stratified_folds(self.codes, n_folds, rng)]

    def diffusion(self, model: Diffusion | None = None):
        """Return the responses of the graph to each label, solved once."""
        model = model or Diffusion(None)
        k = min(model.n_neighbors, len(self.X) - 1)
        key = ("responses", model.method, k)
        if key not in self.prepared:
            graph = build_graph(self.X, GraphSettings(n_neighbors=k, symmetrize="mean"))
            self.prepared[key] = solve_responses(
                graph.W, self.rows, model.method, alpha=model.alpha
            )
        return self.prepared[key]

    def explained(self) -> float:
        """Return how much of the rows' variation their neighbors explain, computed once."""
        if "explained" not in self.prepared:
            self.prepared["explained"] = explained_by_neighbors(self.X, seed=self.seed)
        return self.prepared["explained"]

    def shared(self, member: Member) -> dict:
        """Return what a member computes without labels, once for all that share it."""
        key = member.shares_preparation_of or member.name
        if key not in self.prepared:
            self.prepared[key] = member.model.prepare(self.X)
        return self.prepared[key]


def examine(member: Member, task: Task) -> Evidence:
    """Fit one candidate out of fold and to all labels."""
    start = time.process_time()
    if isinstance(member.model, Diffusion):
        held_out, answer = _diffused(member.model, task)
    else:
        shared = task.shared(member)
        held_out = out_of_fold(
            member.model, task.X, task.rows, task.codes, task.n_classes, task.folds, shared
        )
        member.model.fit_codes(task.X, shared, task.rows, task.codes, task.n_classes)
        answer = member.model.decide_rows(task.X, shared, np.arange(len(task.X)))
    return Evidence(held_out, answer, time.process_time() - start)


def _diffused(model, task):
    def shares_of(codes):
        return class_shares(model.priors, codes, range(task.n_classes))

    responses = task.diffusion(model)
    wanted = None if model.priors is None else shares_of
    held_out = held_out_proba(responses, task.codes, task.n_classes, task.folds, wanted)
    shares = None if wanted is None else wanted(task.codes)
    everything = np.ones(len(task.rows), bool)
    return held_out, to_proba(responses, everything, task.codes, task.n_classes, shares)


def weights_for(members, codes, n_classes: int, *, task=None, priors=None, emphasis=None) -> tuple:
    """Return the first weights of candidates, and the chance that classes are of equal size.

    Parameters as in `combine`.
    """
    even = {"equal": 1.0, "labels": 0.0}.get(priors) if isinstance(priors, str) else None
    even = chance_of_equal_classes(codes, n_classes) if even is None else even
    first = first_weights(
        [m.family for m in members],
        [getattr(m.model, "priors", None) for m in members],
        len(codes),
        explained=None if task is None else task.explained(),
        even=even,
        emphasis=emphasis,
    )
    return first, even


def combine(
    members, evidence, codes, *, task: Task | None = None, priors=None, strength=None, emphasis=None
) -> tuple:
    """Combine what the candidates say.

    Parameters
    ----------
    members : list of Member
    evidence : list of Evidence
    codes : int ndarray of shape (m,)
    task : Task, optional
        Whose rows say how much graph candidates count at first.
    priors : "labels", "equal" or dict, optional
        Sizes of the classes among all rows. By default classes are taken to be of equal size
        where the labels leave no doubt (`SURELY_EQUAL`), and of any size otherwise.
    strength, emphasis : optional
        See `fit_stack` and `first_weights`.

    Returns
    -------
    proba : ndarray of shape (n, k)
    stack : Stack
    """
    held_out = np.array([e.held_out for e in evidence])
    k = held_out.shape[2]
    first, even = weights_for(members, codes, k, task=task, priors=priors, emphasis=emphasis)
    stack: Stack = fit_stack(held_out, codes, first, strength=strength)
    proba = stack.combine([e.answer for e in evidence])
    if isinstance(priors, dict):
        shares = class_shares(priors, codes, list(priors))
    elif even >= SURELY_EQUAL:
        shares = np.full(k, 1 / k)
    else:
        return proba, stack
    stack = replace(stack, factors=factors_for_shares(proba, shares))
    return with_factors(proba, stack.factors), stack
