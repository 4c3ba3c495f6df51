"""Public names are documented as numpydoc asks: every argument, what comes back, an example."""

import inspect
import re

import pytest

import fewfold
from fewfold import _PUBLIC, datasets

PUBLIC = {name: getattr(fewfold, name) for name in sorted(_PUBLIC)} | {
    f"datasets.{name}": getattr(datasets, name)
    for name in datasets.__all__
    if inspect.isfunction(getattr(datasets, name))
}
HEAD = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)


def sections(thing):
    """Return the text of each section of a docstring; "" has what comes before the first."""
    parts = HEAD.split(inspect.getdoc(thing) or "")
    return dict(zip(["", *parts[1::2]], parts[::2], strict=True))


def arguments(text):
    """Return type and description of each argument of a section."""
    found = {}
    for line in text.split("\n"):
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            last = {name.strip().lstrip("*"): [kind, ""] for name in names.split(",")}
            found |= last
        elif line.strip():
            for entry in last.values():
                entry[1] += line.strip() + " "
    return found


def given(thing):
    """Return the names that a call takes."""
    return [name for name in inspect.signature(thing).parameters if name != "self"]


def methods():
    for name, thing in PUBLIC.items():
        if not inspect.isclass(thing):
            continue
        for own, member in inspect.getmembers(thing):
            is_method = inspect.isfunction(member) or inspect.ismethod(member)
            is_ours = is_method and member.__module__.startswith("fewfold")
            if is_ours and not own.startswith("_"):
                yield pytest.param(member, id=f"{name}.{own}")


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_is_described_and_an_example_runs(name):
    found = sections(PUBLIC[name])
    described = arguments(found.get("Parameters", ""))
    assert sorted(described) == sorted(given(PUBLIC[name]))
    # the shape of an array says enough of it
    bare = [n for n, (kind, text) in described.items() if not text and "of shape" not in kind]
    assert not bare
    assert ">>> " in found.get("Examples", "")  # pytest runs it: --doctest-modules


@pytest.mark.parametrize("method", list(methods()))
def test_every_method_is_described(method):
    found = sections(method)
    assert found[""].strip().endswith(".")
    named = arguments(found.get("Parameters", ""))
    assert set(given(method)) <= set(named), set(given(method)) - set(named)
    returns = inspect.signature(method).return_annotation
    returned = re.search(r"^\s+return \S", inspect.getsource(method), re.M)
    if returned and returns not in (None, "None"):
        assert {"Returns", "Yields"} & set(found)
