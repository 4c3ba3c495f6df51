"""Code digests: a change in meaning counts, a change in words does not."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import fewfold.pipeline.provenance as provenance

SOURCES = {
    "__init__.py": "",
    "leaf.py": '"""Doc."""\n\nVALUE = 1\n\n\ndef f(x):\n    """Say f."""\n    return x + VALUE\n',
    "late.py": "def g():\n    return 2\n",
    "user.py": (
        "from fewfold.toy import leaf\n\n\ndef h(x):\n    from fewfold.toy.late import g\n\n"
        "    return leaf.f(x) + g()\n"
    ),
    "other.py": "import fewfold.toy.leaf\n\nA = fewfold.toy.leaf.VALUE\n",
}


CACHES = ("_source", "_file_of", "_facts", "_imports", "_remembered")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package fewfold.toy in a folder of its own; returns digest(names, **changed sources)."""
    import fewfold

    folder = tmp_path / "toy"
    folder.mkdir()
    monkeypatch.setattr(fewfold, "__path__", [*fewfold.__path__, str(tmp_path)])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def digest(*names, **changed):
        for name, text in SOURCES.items():
            (folder / name).write_text(changed.get(name.removesuffix(".py"), text))
        importlib.invalidate_caches()
        for cached in CACHES:
            getattr(provenance, cached).cache_clear()
        return provenance.code_digest(*(f"fewfold.toy.{n}" for n in names))

    yield digest
    for cached in CACHES:
        getattr(provenance, cached).cache_clear()
    for name in [n for n in sys.modules if n.startswith("fewfold.toy")]:
        del sys.modules[name]


def test_comments_docstrings_and_layout_do_not_count(toy):
    base = toy("user")
    assert toy("user", leaf="# c\n" + SOURCES["leaf.py"].replace("Say f", "Tell f")) == base
    assert toy("user", leaf=SOURCES["leaf.py"].replace("x + VALUE", "(x  +  VALUE)")) == base
    assert toy("user", leaf=SOURCES["leaf.py"].replace('    """Say f."""\n', "    # none\n")) != ""
    assert toy("user", leaf=SOURCES["leaf.py"].replace('"""Doc."""', "'''Other'''")) == base


def test_a_docstring_added_or_removed_does_not_count(toy):
    base = toy("user")
    assert toy("user", leaf=SOURCES["leaf.py"].replace('    """Say f."""\n', "")) == base
    assert toy("user", leaf=SOURCES["leaf.py"].replace('"""Doc."""\n', "")) == base
    assert toy("user", late="def g():\n    'New words.'\n    return 2\n") == base


def test_values_names_and_late_imports_count(toy):
    base = toy("user")
    assert toy("user", leaf=SOURCES["leaf.py"].replace("VALUE = 1", "VALUE = 2")) != base
    assert toy("user", late="def g():\n    return 3\n") != base
    assert toy("user", user=SOURCES["user.py"].replace("leaf.f(x) +", "leaf.f(x) -")) != base
    assert toy("user", other="A = 5\n") == base


def test_a_string_that_is_not_a_docstring_counts(toy):
    base = toy("leaf", leaf="def f():\n    return 'a'\n")
    assert toy("leaf", leaf="def f():\n    return 'b'\n") != base


def test_no_module_imports_relatively():
    # The digest follows full names only.
    root = Path(provenance.__file__).parent
    relative = [p for p in root.rglob("*.py") if re.search(r"^\s*from \.", p.read_text(), re.M)]
    assert relative == []


def test_plain_imports_count(toy):
    base = toy("other")
    assert toy("other", leaf=SOURCES["leaf.py"].replace("VALUE = 1", "VALUE = 2")) != base


def test_the_order_of_modules_does_not_count(toy):
    assert toy("user", "other") == toy("other", "user") == toy("user", "other", "leaf")
    assert len(toy("user")) == 16


def test_circles_end(toy):
    circle = {"leaf": "import fewfold.toy.late\n", "late": "import fewfold.toy.leaf\n"}
    assert toy("leaf", **circle) == toy("late", **circle)


def test_a_module_that_is_not_there():
    with pytest.raises(ModuleNotFoundError, match="no module 'fewfold.nothing'"):
        provenance.code_digest("fewfold.nothing")


def test_modules_reached_and_leave_out():
    used = provenance._reachable(["fewfold.graph.build"])
    assert "fewfold.graph.neighbors" in used and "fewfold.exceptions" in used
    assert "fewfold.pipeline.training" not in used
    full = provenance.code_digest("fewfold.graph.build")
    assert (
        provenance.code_digest("fewfold.graph.build", leave_out=("fewfold.graph.rerank",)) != full
    )


def test_scripts(tmp_path):
    script = tmp_path / "stage.py"
    script.write_text("from fewfold.linalg import laplacian\nimport numpy\n")
    expected = provenance.code_digest("fewfold.linalg.laplacian")
    assert provenance.script_digest(script) == expected
    assert provenance.script_digest(script, "fewfold.graph.weights") == provenance.code_digest(
        "fewfold.linalg.laplacian", "fewfold.graph.weights"
    )


def test_what_was_parsed_is_remembered_by_its_text(toy, monkeypatch):
    base = toy("user")
    changed = toy("user", leaf="VALUE = 2\n")
    monkeypatch.setattr(provenance, "_tree_digest", None)  # parsing again would fail
    assert toy("user") == base
    assert toy("user", leaf="VALUE = 2\n") == changed
    with pytest.raises(TypeError):
        toy("user", leaf="VALUE = 3\n")


@pytest.mark.parametrize("found", ["", "[]", "{", "\x00"])
def test_a_damaged_memory_costs_nothing_but_time(toy, tmp_path, found):
    base = toy("user")
    (memory,) = (tmp_path / "cache/fewfold").glob("*.json")
    memory.write_text(found)
    assert toy("user") == base


def test_a_cache_that_cannot_be_written_is_done_without(toy, monkeypatch):
    base = toy("user")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert toy("user") == base
