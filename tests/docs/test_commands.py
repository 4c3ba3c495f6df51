"""Every `fewfold` command that a page names is one that the command line takes."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from fewfold.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    ROOT / "config/README.md",
    ROOT / "data/README.md",
]
PAGES.remove(ROOT / "docs/notes/newcomers.md")  # quotes mistakes
LINE = re.compile(r"^(?: {4}|\$ )?(fewfold [a-z].*)$", re.M)  # in a block
INCOMPLETE = ("MissingParameter", "BadOptionUsage")
INLINE = re.compile(r"`(fewfold [a-z][^`]*)`")


def commands(text):
    """Yield the words of each command, and whether it stands in a block, to be typed as it is."""
    blocks = "\n".join(re.findall(r"^(?:```sh\n.*?^```| {4}.*?)$", text, re.M | re.S))
    for line in LINE.findall(blocks):
        for part in line.partition(" #")[0].split("&&"):
            yield shlex.split(part)[1:], True
    for line in INLINE.findall(text):
        yield shlex.split(" ".join(line.split()))[1:], False


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_are_understood(page):
    group = get_command(app)
    for (name, *words), is_typed in commands(page.read_text(encoding="utf-8")):
        assert name in group.commands, f"fewfold {name}: no such command"
        command = group.commands[name]
        if not words or "..." in words or "-h" in words or "--help" in words:
            continue
        try:
            found = command.make_context(name, list(words))
            assert not found.args, f"fewfold {name} {' '.join(words)}: {found.args}"
        except Exception as error:
            # in a sentence: "`fewfold doctor --profile` names the partitions"
            is_named = not is_typed and type(error).__name__ in INCOMPLETE
            assert is_named, f"fewfold {name} {' '.join(words)}: {error}"


TARGETS = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M)
IN_CODE = r"(?:^ {4}|`)(?:[A-Z_]+=\S+ )*"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_targets_scripts_and_tests_are_there(page):
    text = page.read_text(encoding="utf-8")
    unknown = set(re.findall(rf"{IN_CODE}make ([a-z][a-z-]*)", text, re.M)) - set(TARGETS)
    assert not unknown, f"make {unknown}: no such target"
    for script in re.findall(rf"{IN_CODE}(?:slot )?python ([a-z_/.\d]+\.py)", text, re.M):
        assert (ROOT / script).exists(), script
    for words in re.findall(rf"{IN_CODE}(?:python -m )?pytest ([^`\n]*)", text, re.M):
        for path in re.findall(r"(?:^|\s)(tests/[\w/*.]+)", words):
            assert list(ROOT.glob(path)), path
