"""The method contract: a record that says what a method needs, and what its estimator offers.

A method is one folder under `fewfold.methods` (or a package with an entry point of the group
``fewfold.methods``) whose ``__init__`` holds records. Training, figures, labeling, model files
and prediction work from the record; nothing else lists methods by name.

An estimator follows scikit-learn, and takes what earlier stages made, as far as its record says::

    fit(X, y, *, graph=None, manifold=None, kernel=None, copies=None)
    transduction_            labels of all rows; -1 (NaN for regression) where it cannot know
    label_distributions_     class probabilities of all rows, in the order of ``classes_``
    predict(X_new), predict_proba(X_new, ...)
    details_, status_        plain values worth keeping; "ok" or a short phrase
    prepare(X)               optional: arrays that need no label, given to `fit` as ``shared``
    to_arrays(), from_arrays(arrays, notes)
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fewfold.methods.parameters import Parameter

CLASSIFICATION, REGRESSION = "classification", "regression"
BOTH_TASKS = (CLASSIFICATION, REGRESSION)


@dataclass(frozen=True)
class Needs:
    """What a method, manifold or kernel takes from earlier stages.

    Attributes
    ----------
    graph : {"no", "may", "must"}
        Whether its entry in a config names a neighbor graph.
    manifold : tuple of str
        Types of manifold, one of which its entry names; empty for none.
    manifold_wish : {"may", "must"}
        Whether it must name one.
    kernel : {"no", "may", "must"}
        Whether its entry names a kernel matrix.
    copies : bool
        Transformed copies of the labeled rows.
    images : bool
        The pixels, where the features are principal components of them.
    groups : bool
        The true sets of generated data, for oracles.
    """

    graph: str = "no"
    manifold: tuple[str, ...] = ()
    manifold_wish: str = "must"
    kernel: str = "no"
    copies: bool = False
    images: bool = False
    groups: bool = False

    def required(self) -> dict[str, tuple[str, ...]]:
        """Return the sections an entry must refer to, each with the types allowed there."""
        found = {}
        if self.manifold and self.manifold_wish == "must":
            found["manifolds"] = self.manifold
        if self.graph == "must":
            found["graphs"] = ()
        if self.kernel == "must":
            found["kernels"] = ()
        return found

    def optional(self) -> tuple[str, ...]:
        """Return the sections an entry may refer to besides."""
        wishes = {
            "graphs": self.graph,
            "manifolds": self.manifold_wish if self.manifold else "no",
            "kernels": self.kernel,
        }
        return tuple(section for section, wish in wishes.items() if wish == "may")


@dataclass(frozen=True)
class Candidate:
    """One setting of a method that ``fewfold label`` considers, and when.

    Attributes
    ----------
    why : str
        One sentence for the report: what data it suits.
    name : str
        In ``--methods``, tables and model files; by default the method's.
    family : str
        Candidates of one family are alike, and share one first weight; by default the name.
    settings : dict
        Of the method's parameters, as in a config.
    tasks : tuple of str or None
        By default the method's.
    rows : {"dense", "sparse", "any", "images"}
        The rows it is for; "images": only if rows are images (or series).
    graph : str
        Which graph it works on, if on one: "rows" (10 neighbors), "near" (5) or "images".
    class_shares : {"labels", "equal"} or None
        What it assumes of the sizes of the classes, if anything.
    max_rows, max_labels : int or None
        Not considered for more.
    min_labels : int
        Not considered for fewer.
    prepared_like : str or None
        The candidate of this method whose preparation (what needs no label) it shares.
    trusted : bool
        Did best on other data of this kind with few labels: it answers alone unless the
        combination is clearly better on held-out labels.
    quick : bool
        Whether ``--quick`` uses it.
    """

    why: str
    name: str = ""
    family: str = ""
    settings: dict = field(default_factory=dict)
    tasks: tuple[str, ...] | None = None
    rows: str = "dense"
    graph: str = "rows"
    class_shares: str | None = None
    max_rows: int | None = None
    max_labels: int | None = None
    min_labels: int = 0
    prepared_like: str | None = None
    trusted: bool = False
    quick: bool = False


@dataclass(frozen=True)
class Implied:
    """The manifold of a method's entry that names none: made of the entry's own settings.

    Attributes
    ----------
    manifold : str
        Its type.
    unless : tuple of (parameter, values) or None
        Settings with which the method needs none.
    """

    manifold: str
    unless: tuple[str, tuple] | None = None

    def by(self, settings: dict) -> bool:
        """Return whether an entry with these settings needs the manifold."""
        return self.unless is None or settings.get(self.unless[0]) not in self.unless[1]


@dataclass(frozen=True)
class Record:
    """What methods, manifolds and kernels have in common.

    Attributes
    ----------
    name : str
        The name in a config: ``learner`` of a method, ``type`` of a manifold or kernel.
    target : str
        ``"module:name"`` of the estimator or function, imported when it is used. Records come
        from code, never from a file.
    needs : Needs
    parameters : tuple of Parameter
    cost_like : str or None
        The record whose measured cost stands for this one, where it has none of its own.
    """

    name: str
    target: str
    needs: Needs = Needs()
    parameters: tuple[Parameter, ...] = ()
    cost_like: str | None = None

    @property
    def module(self) -> str:
        """The module of the target: what a rule's code digest covers."""
        return self.target.split(":")[0]

    def load(self) -> Any:
        """Import and return the estimator class or function."""
        return load(self.target)

    def about(self) -> str:
        """Return the first sentence of the target's docstring; the module is not imported.

        Examples
        --------
        >>> from fewfold.methods.registry import methods
        >>> methods()["knn"].about()
        'k-nearest-neighbor vote among the labeled rows, ties to the nearer.'
        """
        module, _, name = self.target.partition(":")
        # by name: of a record, whose target comes from code and not from a file
        source = getattr(find_spec(module), "origin", None)
        if source is None or not source.endswith(".py"):
            return ""
        tree = ast.parse(Path(source).read_text(encoding="utf-8"))
        found = (n for n in tree.body if getattr(n, "name", None) == name)
        text = next((ast.get_docstring(node) for node in found), None) or ""
        sentence = " ".join(text.partition("\n\n")[0].split())
        return re.sub(r" \(?\[[a-z]+-\d{4}\]\)?", "", sentence)  # papers are named in the docs

    def options(self, settings: dict) -> dict:
        """Return a config entry's settings under the names of the target's arguments."""
        names = {p.name: p.keyword for p in self.parameters}
        return {names.get(key, key): value for key, value in settings.items()}


@dataclass(frozen=True)
class Method(Record):
    """A learner: what an entry under ``methods`` of a config names.

    Attributes
    ----------
    regressor : str or None
        The estimator for numeric targets, where it is not ``target``.
    tasks : tuple of str
    clusters : bool
        Whether it works without any label (budget 0).
    oracle : tuple of (parameter, value) or None
        The setting with which it is an oracle, which is given the truth; the report shows such an
        entry but does not rank it.
    light : bool
        Whether fits to some thousand rows take a fraction of a second: such methods of a dataset
        share a job, where they read nothing but features and kernels.
    implies : Implied or None
        The manifold stage that its chain has even where an entry names none.
    holds_all_pairs : tuple of (parameter, default) or None
        The parameter that says up to how many rows numbers for all pairs of them are held.
    figures : str or None
        ``"module:function"`` of (fitted model, data), which yields (title, caption, figure).
    candidates : tuple of Candidate
        When ``fewfold label`` considers it, and with which settings; without any, only where it
        is asked for.
    """

    regressor: str | None = None
    tasks: tuple[str, ...] = (CLASSIFICATION,)
    clusters: bool = False
    oracle: tuple[str, Any] | None = None
    light: bool = False
    implies: Implied | None = None
    holds_all_pairs: tuple[str, int] | None = None
    figures: str | None = None
    candidates: tuple[Candidate, ...] = ()

    def is_oracle(self, settings: dict) -> bool:
        """Return whether these settings make the method an oracle, which is given the truth."""
        return self.oracle is not None and settings.get(self.oracle[0]) == self.oracle[1]

    def estimator_class(self, task: str = CLASSIFICATION):
        """Import and return the estimator of a task."""
        return load(self.regressor if task == REGRESSION and self.regressor else self.target)

    def build(self, settings: dict, *, task: str = CLASSIFICATION, **context):
        """Make an estimator from a config entry's settings.

        Parameters
        ----------
        settings : dict
            Names as in a config.
        task : str
        **context
            ``random_state``, ``n_classes``, ``image_shape``: given to estimators that take them.
        """
        estimator = self.estimator_class(task)
        takes = inspect.signature(estimator).parameters
        options = {key: value for key, value in context.items() if key in takes}
        return estimator(**options | self.options(settings))


@dataclass(frozen=True)
class ManifoldType(Record):
    """A model of the data's shape, learned without labels; ``target`` is its fit function.

    Attributes
    ----------
    encoder : str or None
        ``"module:function"`` that describes rows in the model's terms (a stage of its own):
        ``encoder(out, features, arrays, **options)`` writes arrays with one entry per row to a
        stage file, and for new rows arrays of the same names with ``_new`` at the end.
    encoder_options : tuple of str
        The parameters that the encoder takes; the fit function takes the others.
    encoder_reads : tuple of str
        What it takes besides, by keyword: ``splits``, ``graph`` (of the manifold's entry).
    """

    encoder: str | None = None
    encoder_options: tuple[str, ...] = ()
    encoder_reads: tuple[str, ...] = ()

    @property
    def encodes(self) -> bool:
        """Whether rows are described in the model's terms, in a file of their own."""
        return self.encoder is not None

    @property
    def encoder_module(self) -> str:
        """The module of the encoder: what the encoding rule's code digest covers."""
        return self.encoder.split(":")[0]


@dataclass(frozen=True)
class KernelType(Record):
    """A kernel whose rows fill a matrix in HDF5; ``target`` is its class.

    Attributes
    ----------
    by_budget : tuple of (parameter, value) or None
        The setting with which there is a matrix for each number of labels.
    matrices : int
        How many there are of each then.
    """

    by_budget: tuple[str, Any] | None = None
    matrices: int = 1

    def is_by_budget(self, settings: dict) -> bool:
        """Return whether these settings ask for a matrix for each number of labels."""
        return self.by_budget is not None and settings.get(self.by_budget[0]) == self.by_budget[1]


@dataclass(frozen=True)
class ManifoldModel:
    """A fitted manifold, as training receives it.

    Attributes
    ----------
    arrays : dict of ndarray
    settings : dict
    points, points_new : dict of ndarray or None
        The encoding of the rows, and of new rows, where the type has an encoder.
    type : str or None
        As its file says; None if it does not come from a file.
    """

    arrays: dict
    settings: dict = field(default_factory=dict)
    points: dict | None = None
    points_new: dict | None = None
    type: str | None = None


def load(target: str):
    """Import what a record's ``"module:name"`` says; the text comes from code, never a file."""
    module, name = target.split(":")
    # by name: written in the records of methods
    return getattr(import_module(module), name)
