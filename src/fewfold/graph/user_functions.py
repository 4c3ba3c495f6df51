"""Functions that a user names by import path in their own config or Python call.

Importing a module runs it. So this is the one place of the package where a text that is not its
own becomes code, and only callers that hold a user's own config or arguments may use it. Settings
read from a *file* (a stage file, a model file) keep such texts as plain strings, which
`fewfold.transforms.metrics.get_metric` looks up in its registry and otherwise refuses.
"""

from __future__ import annotations

from importlib import import_module

from fewfold.exceptions import InputError


class UserFunction:
    """A user's function, imported from ``"package.module:function"``.

    Parameters
    ----------
    path : str
        Where the function is; kept, so that settings can be written as plain text again.

    Examples
    --------
    >>> UserFunction("math:hypot")(3, 4)
    5.0
    """

    def __init__(self, path: str):
        self.path = path
        module, _, name = path.partition(":")
        try:
            # by name: from a user's own config or call, see above
            self.function = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise InputError(
                f"metric={path!r} cannot be imported: {error}. Write package.module:function."
            ) from error
        if not callable(self.function):
            raise InputError(f"metric={path!r} is not a function. Write package.module:function.")

    def __call__(self, *args):
        """Call the function."""
        return self.function(*args)

    def __eq__(self, other):
        return isinstance(other, UserFunction) and other.path == self.path

    def __hash__(self):
        return hash(self.path)

    def __repr__(self):
        return f"UserFunction({self.path!r})"


def resolved(value):
    """Import a metric that is given by import path; return other values as they are."""
    return UserFunction(value) if isinstance(value, str) and ":" in value else value


def resolved_options(options: dict) -> dict:
    """Import the metrics that a metric's options name (``base``, at any depth)."""
    found = {}
    for key, value in options.items():
        if key == "base":
            value = resolved(value)
        elif isinstance(value, dict):
            value = resolved_options(value)
        found[key] = value
    return found


def as_plain(value):
    """Return settings with each imported function replaced by its path, to be written as JSON."""
    if isinstance(value, UserFunction):
        return value.path
    if isinstance(value, dict):
        return {key: as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_plain(item) for item in value)
    return value
