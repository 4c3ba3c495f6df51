"""Digests of library code, so that a change in a module re-runs the stages that use it."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

import fewfold

PACKAGE = "fewfold"


def code_digest(*modules: str, leave_out: tuple = ()) -> str:
    """Hash the syntax trees of modules and of the fewfold modules they import.

    Comments, docstrings and layout do not count. Imports inside functions do.

    Parameters
    ----------
    *modules : str
        Full names, for example ``"fewfold.graph.build"``.
    leave_out : tuple of str
        Modules not followed: imported late, and not used by the job in question.

    Returns
    -------
    str of 16 hexadecimal digits
    """
    hasher = hashlib.sha256()
    for name in sorted(_reachable(modules, leave_out)):
        hasher.update(f"{name}:{_facts(name)['digest']}".encode())
    _remember()
    return hasher.hexdigest()[:16]


def script_digest(script, *modules: str, leave_out: tuple = ()) -> str:
    """Return `code_digest` of the fewfold modules that a stage script imports, and of others."""
    facts = _facts_of(Path(script).read_text(encoding="utf-8"), str(script), PACKAGE)
    return code_digest(*_modules_among(facts["imports"]), *modules, leave_out=leave_out)


def templates_digest(*packages: str) -> str:
    """Hash the templates of packages, which are no Python modules: ``"report"``, for example."""
    hasher = hashlib.sha256()
    for package in packages:
        folder = Path(fewfold.__file__).parent / package / "templates"
        for path in sorted(folder.iterdir()):
            hasher.update(f"{package}/{path.name}".encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()[:16]


def _reachable(modules, leave_out=()):
    seen, todo = set(), list(modules)
    while todo:
        name = todo.pop()
        if name not in seen and name not in leave_out:
            seen.add(name)
            todo.extend(_imports(name))
    return seen


@cache
def _file_of(name):
    """The file of a module, or None. Looked up, not imported: imports would take seconds."""
    root, *steps = name.split(".")
    # A method may live in a package of its own; it is found as imports are, on the path.
    roots = fewfold.__path__ if root == PACKAGE else [Path(folder, root) for folder in sys.path]
    for folder in roots:
        place = Path(folder, *steps)
        for path in (place / "__init__.py", place.with_suffix(".py")):
            if path.is_file():
                return path
    return None


@cache
def _source(name):
    path = _file_of(name)
    if path is None:
        raise ModuleNotFoundError(f"code_digest: there is no module {name!r}.")
    return path.read_text(encoding="utf-8"), str(path)


@cache
def _facts(name):
    """Digest and imports of a module."""
    return _facts_of(*_source(name), name.split(".")[0])


def _facts_of(text, origin, root):
    """Digest and imports of a source text: parsed once, then remembered on disk."""
    key = hashlib.sha256(f"{root}\0{text}".encode()).hexdigest()
    remembered = _remembered()
    if key not in remembered:
        tree = ast.parse(text, origin)
        # Before the digest, which takes docstrings out of the tree.
        names = _names_imported(tree, (PACKAGE, root))
        remembered[key] = {"digest": _tree_digest(tree), "imports": names}
        _learned.add(key)
    return remembered[key]


def _tree_digest(tree):
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                body[:1] = [] if len(body) > 1 else [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


@cache
def _imports(name):
    return _modules_among(_facts(name)["imports"])


def _names_imported(tree, roots):
    """What a module imports: pairs of a module and, for ``from``, the name taken from it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update((a.name, "") for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update((node.module, alias.name) for alias in node.names)
    return sorted(list(x) for x in found if x[0].split(".")[0] in roots)


def _modules_among(names):
    found = set()
    for module, name in names:
        # "from package import thing": thing may be a module or a name inside one.
        full = f"{module}.{name}"
        found.add(full if name and _file_of(full) is not None else module)
    # The root package holds the version and lazy names only: it never changes a result.
    return tuple(sorted(n for n in found if n != PACKAGE))


# Parsing the library took a third of the time in which Snakemake starts, and a job on a cluster
# starts it twice. What parsing found is kept in the user's cache, keyed by the source text: it
# cannot be out of date. A cache that cannot be read or written costs time, nothing else.
MOST_REMEMBERED = 5000
_learned: set[str] = set()


def _memory() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "fewfold", f"code.{sys.implementation.cache_tag}.json")


@cache
def _remembered() -> dict:
    try:
        found = json.loads(_memory().read_text(encoding="utf-8"))
        return found if isinstance(found, dict) and len(found) < MOST_REMEMBERED else {}
    except (OSError, ValueError, RuntimeError):
        return {}


def _remember() -> None:
    if not _learned:
        return
    try:
        path = _memory()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(_remembered(), file)
        os.replace(file.name, path)
    except (OSError, RuntimeError):
        pass
    _learned.clear()
