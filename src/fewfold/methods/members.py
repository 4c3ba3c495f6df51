"""The candidates that ``fewfold label`` combines, as the registry of methods has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from inspect import isclass

from fewfold.exceptions import InputError
from fewfold.methods.base import Candidate, Method
from fewfold.methods.registry import methods

ROWS_GRAPH, NEAR_GRAPH, IMAGES_GRAPH = "rows", "near", "images"


@dataclass(frozen=True)
class Member:
    """A method with its settings, as one candidate of a run.

    Attributes
    ----------
    name, family : str
    method : Method
    settings : dict
    graph : {"rows", "near", "images"} or None
        The graph that it works on.
    class_shares : {"labels", "equal"} or None
        What it assumes of the sizes of the classes.
    prepared_like : str or None
    trusted : bool
    """

    name: str
    family: str
    method: Method
    settings: dict = field(default_factory=dict)
    graph: str | None = None
    class_shares: str | None = None
    prepared_like: str | None = None
    trusted: bool = False

    def build(self, task: str, **context):
        """Make its estimator; ``context`` as of `Method.build`."""
        return self.method.build(self.settings, task=task, **context)

    def prepares(self, task: str) -> bool:
        """Whether it computes something without labels, once for all folds."""
        return self.prepared_like is None and hasattr(self.method.estimator_class(task), "prepare")


@dataclass(frozen=True)
class DataShape:
    """What decides which candidates suit a dataset."""

    task: str
    n_rows: int
    n_labels: int
    is_sparse: bool = False
    has_images: bool = False


def all_members(task: str, *, declared: bool = False) -> dict[str, tuple[Member, Candidate]]:
    """Return every candidate of a task by name; methods without one under their own name.

    ``declared`` leaves out the latter, and imports no estimator.
    """
    found = {}
    for method in methods().values():
        own = [c for c in method.candidates if task in (c.tasks or method.tasks)]
        if task not in method.tasks or not (own or (not declared and _fits_alone(method))):
            continue
        for candidate in own or [Candidate("Asked for.", rows="any")]:
            member = _member(method, candidate)
            found[member.name] = member, (candidate if own else replace(candidate, max_rows=0))
    return found


def _fits_alone(method):
    """Whether an estimator takes rows and labels, and computes what it lacks itself."""
    needs = method.needs
    if needs.kernel == "must" or (needs.groups and method.oracle is None):
        return False
    return isclass(method.load())


def _member(method, candidate):
    name = candidate.name or method.name
    uses_graph = method.needs.graph != "no" or method.needs.manifold
    return Member(
        name=name,
        family=candidate.family or name,
        method=method,
        settings=dict(candidate.settings),
        graph=candidate.graph if uses_graph else None,
        class_shares=candidate.class_shares,
        prepared_like=candidate.prepared_like,
        trusted=candidate.trusted,
    )


def members_for(shape: DataShape, asked=None, *, quick: bool = False) -> list[Member]:
    """Return the candidates for a dataset.

    Parameters
    ----------
    shape : DataShape
    asked : list of str, optional
        Names of candidates, or of methods for all candidates of these.
    quick : bool
        Only the few that answer without a comparison.

    Raises
    ------
    InputError
        For a name that does not exist or does not do the task.

    Examples
    --------
    >>> found = members_for(DataShape("classification", 300, 30), ["trees"])
    >>> [member.name for member in found]
    ['extra_trees', 'forest']
    """
    if asked:
        return _asked_for(shape, asked)
    known = all_members(shape.task, declared=True)
    return [
        member
        for member, candidate in known.values()
        if _suits(candidate, shape) and (candidate.quick or not quick)
    ]


def too_many_rows(shape: DataShape, *, quick: bool = False) -> list[str]:
    """Return the candidates that are left out because of the number of rows alone.

    Examples
    --------
    >>> "low_density" in too_many_rows(DataShape("classification", 10**6, 500))
    True
    >>> too_many_rows(DataShape("classification", 300, 30))
    []
    """
    few = {member.name for member in members_for(replace(shape, n_rows=2), quick=quick)}
    return sorted(few - {member.name for member in members_for(shape, quick=quick)})


def _suits(candidate, shape):
    if candidate.rows == "images" and not shape.has_images:
        return False
    if candidate.rows in ("dense", "sparse") and (candidate.rows == "sparse") != shape.is_sparse:
        return False
    limits = (candidate.max_rows, shape.n_rows), (candidate.max_labels, shape.n_labels)
    return shape.n_labels >= candidate.min_labels and all(
        most is None or count <= most for most, count in limits
    )


def _asked_for(shape, asked):
    known, found = all_members(shape.task, declared=True), {}
    if not {*asked} <= {*known, *(member.method.name for member, _ in known.values())}:
        known = all_members(shape.task)
    for name in asked:
        own = {name: known[name][0]} if name in known else {}
        own = own or {k: m for k, (m, _) in known.items() if m.method.name == name}
        if not own:
            near = get_close_matches(name, known, 1, 0.5)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise InputError(
                f"--methods: {name!r} is not known for {shape.task}. {hint}Choose from "
                f"{', '.join(sorted(known))}."
            )
        for key, member in own.items():
            if member.graph == IMAGES_GRAPH and not shape.has_images:
                if key == name:
                    raise InputError(f"--methods {name} needs --image-shape, for example 28 28.")
                continue
            # On its own it is asked for; what it shares must be computed for it all the same.
            found[key] = member
    for key, member in found.items():
        if member.prepared_like not in (None, *found):
            found[key] = replace(member, prepared_like=None)
    return list(found.values())


def named_members(task: str, names) -> list[Member]:
    """Return members by their names, as the config of a run lists them."""
    return _asked_for(DataShape(task, 0, 0, has_images=True), names)
