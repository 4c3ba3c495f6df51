"""Change one place of a module's source, and hold a check to noticing it."""

import importlib
import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest


def mutated(name: str, old: str, new: str) -> ModuleType:
    """Return a copy of a module in which one text is replaced; the package keeps the original."""
    original = importlib.import_module(name)
    source = importlib.util.find_spec(name).loader.get_source(name)
    assert source.count(old) == 1, f"{name} holds {old!r} {source.count(old)} times, not once."
    copy = ModuleType(f"{name}_mutated")
    copy.__file__, copy.__package__ = original.__file__, original.__package__
    sys.modules[copy.__name__] = copy  # dataclasses look their module up
    try:
        exec(compile(source.replace(old, new), f"{name} ({old!r} -> {new!r})", "exec"), vars(copy))
    finally:
        del sys.modules[copy.__name__]
    return copy


def assert_caught(check, name: str, old: str, new: str) -> None:
    """Run a check on the module as it is, and on a mutated copy, which it must refuse."""
    check(importlib.import_module(name))
    assert_refused(check, mutated(name, old, new))


def assert_refused(check, module: ModuleType) -> None:
    """Run a check on a changed module, which it must not pass."""
    with pytest.raises(Exception):  # noqa: B017 - an error is noticed as well as a wrong value
        check(module)


def rng() -> np.random.Generator:
    """Return the generator that checks draw their data from."""
    return np.random.default_rng(0)
