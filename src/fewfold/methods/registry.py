"""All methods, manifold types and kernel types that this installation has.

Records are found in the folders of this package, and in packages that announce themselves by an
entry point of the group ``fewfold.methods``. An ``__init__`` with records imports nothing slow:
every plan of a run reads it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from fewfold import methods as methods_package
from fewfold.exceptions import ConfigError
from fewfold.methods.base import KernelType, ManifoldType, Method, Record
from fewfold.methods.parameters import Parameter

GROUP = "fewfold.methods"

# The key under which an entry of a config refers to each section.
REFERENCES = {"graphs": "graph", "manifolds": "manifold", "kernels": "kernel"}


@cache
def records() -> tuple[Record, ...]:
    """Return every record, sorted by name; two records of one name are an error."""
    modules = [
        # by name: folders of this package
        import_module(f"fewfold.methods.{found.name}")
        for found in iter_modules(methods_package.__path__)
        if found.ispkg
    ]
    modules += [point.load() for point in entry_points(group=GROUP)]  # of installed packages
    found = [record for module in modules for record in getattr(module, "RECORDS", ())]
    for kind in (Method, ManifoldType, KernelType):
        names = [record.name for record in found if isinstance(record, kind)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(
                f"Two {kind.__name__} records are named {twice[0]!r}. Rename one of them."
            )
    return tuple(sorted(found, key=lambda record: record.name))


def _of(kind) -> dict:
    return {record.name: record for record in records() if isinstance(record, kind)}


@cache
def methods() -> dict[str, Method]:
    """Return the methods by the name that ``learner`` has in a config.

    Examples
    --------
    >>> "diffusion" in methods()
    True
    """
    return _of(Method)


@cache
def manifolds() -> dict[str, ManifoldType]:
    """Return the manifold types by name."""
    return _of(ManifoldType)


@cache
def kernels() -> dict[str, KernelType]:
    """Return the kernel types by name."""
    return _of(KernelType)


def oracles(config: dict) -> set[str]:
    """Name the oracles of a config: methods that are given the truth."""
    return {
        name
        for name, entry in (config.get("methods") or {}).items()
        if (entry or {}).get("learner") in methods()
        and methods()[entry["learner"]].is_oracle(entry)
    }


def explanations(config: dict) -> dict[str, str]:
    """Explain the methods that a config runs: what the learner does, the settings of the entry.

    Without a list of methods to run, all of them.
    """
    found, entries = {}, config.get("methods") or {}
    for name in (config.get("run") or {}).get("methods", entries):
        settings = dict(entries.get(name) or {})
        learner = methods().get(settings.pop("learner", None))
        if learner is None:
            continue
        words = ", ".join(f"{key}: {value}" for key, value in settings.items())
        found[name] = f"{learner.about()} {words and f'Settings: {words}.'}".strip()
    return found


def parameters_of(estimator: type) -> tuple[Parameter, ...]:
    """Return the parameters that the record of an estimator class declares, if it has one."""
    own = f"{estimator.__module__}:{estimator.__name__}"
    found = (m for m in methods().values() if own in (m.target, m.regressor))
    return next((m.parameters for m in found), ())


def sections() -> dict[str, dict[str, Record]]:
    """Return the records of each section of a config."""
    return {"manifolds": manifolds(), "kernels": kernels(), "methods": methods()}
