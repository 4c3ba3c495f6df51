"""Digests of library code, so that a change in a module re-runs the stages that use it."""

from __future__ import annotations

import ast
import hashlib
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
        hasher.update(f"{name}:{_module_digest(name)}".encode())
    return hasher.hexdigest()[:16]


def script_digest(script, *modules: str, leave_out: tuple = ()) -> str:
    """Return `code_digest` of the fewfold modules that a stage script imports, and of others."""
    tree = ast.parse(Path(script).read_text(encoding="utf-8"), str(script))
    return code_digest(*_imported(tree), *modules, leave_out=leave_out)


def modules_used(*modules: str) -> list[str]:
    """Return the fewfold modules that `code_digest` covers, sorted."""
    return sorted(_reachable(modules))


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
    steps = name.split(".")[1:]
    for folder in fewfold.__path__:
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
def _tree(name):
    text, origin = _source(name)
    return ast.parse(text, origin)


@cache
def _module_digest(name):
    tree = _tree(name)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                body[:1] = [] if len(body) > 1 else [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


@cache
def _imports(name):
    return _imported(_tree(name))


def _imported(tree):
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # "from package import thing": thing may be a module or a name inside one.
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                inside = full.startswith(PACKAGE + ".") and _file_of(full) is not None
                found.add(full if inside else node.module)
    # The root package holds the version and lazy names only: it never changes a result.
    return tuple(sorted(n for n in found if n.startswith(PACKAGE + ".")))
