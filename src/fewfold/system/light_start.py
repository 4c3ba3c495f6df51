"""Start a process without modules that libraries import and a job does not use.

SciPy imports ``numpy.f2py`` and ``numpy.testing`` (all names of NumPy), and scikit-learn
``scipy.stats`` (three functions): 0.4 of the 0.65 CPU seconds that scikit-learn takes to start.
Importing this module puts placeholders in their places, which become the modules when something
of them is used. It must come before SciPy: a module that is already there is left as it is.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

# Names of functions: what is imported by name from a placeholder need not load it yet.
POSTPONED = {
    "numpy.f2py": (),
    "numpy.testing": (),
    "scipy.stats": ("chi2", "gmean", "rankdata", "spearmanr"),
}


class Postponed(ModuleType):
    """A module that is imported when an attribute of it is first asked for.

    Parameters
    ----------
    name : str
    functions : sequence of str
        Functions that may be taken from the module without importing it: each imports it when
        it is called.
    """

    def __init__(self, name, functions=()):
        super().__init__(name)
        spec = find_spec(name)  # by name: of the table above
        self.__spec__, self.__path__ = spec, spec.submodule_search_locations
        for function in functions:
            setattr(self, function, _forward(name, function))

    def __getattr__(self, attribute):
        # Python and others look through all modules for names like __warningregistry__.
        if attribute.startswith("__") and attribute != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {attribute!r}")
        return getattr(_real(self.__name__), attribute)


def _forward(module, function):
    def call(*args, **kwargs):
        return getattr(_real(module), function)(*args, **kwargs)

    call.__name__ = call.__qualname__ = function
    return call


def _real(name):
    """Return the module itself; the placeholder makes way for it."""
    if isinstance(sys.modules.get(name), Postponed):
        del sys.modules[name]
    # by name: of the table above
    return import_module(name)


def postpone(name: str, functions=()) -> None:
    """Put a placeholder in a module's place, unless the module is there."""
    if name not in sys.modules:
        parent, _, last = name.rpartition(".")
        placeholder = Postponed(name, functions)
        sys.modules[name] = placeholder
        # NumPy looks for a submodule by its own __getattr__, which would never end.
        # by name: of the table above
        setattr(import_module(parent), last, placeholder)


for _module, _functions in POSTPONED.items():
    postpone(_module, _functions)
