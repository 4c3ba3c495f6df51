"""Code blocks of the pages run as they are written, in order, in one folder per page."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from fewfold.config.defaults import with_defaults
from fewfold.config.schema import read_schema, validate

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|sh|yaml|toml)\n(?:# (\S+\.\w+)\n)?(.*?)^```", re.M | re.S)
# A block that begins with "# name.ending" is that file; python and sh blocks run.
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "config/README.md"])
}
PAGES = [page for page, text in TEXTS.items() if re.search(r"^```(python|sh)$", text, re.M)]
YAML = [
    (page, body)
    for page, text in TEXTS.items()
    for language, _, body in BLOCK.findall(text)
    if language == "yaml"
]


def install(folder):
    """Do what pip would do for the entry points of a package, for this folder only."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, names in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in names.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page, tmp_path):
    blocks = BLOCK.findall(TEXTS[page])
    assert blocks
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for number, (language, name, body) in enumerate(blocks):
        if name:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(body, encoding="utf-8")
            continue
        if language == "python":
            (tmp_path / f"block_{number}.py").write_text(body, encoding="utf-8")
            command = [sys.executable, f"block_{number}.py"]
        elif language == "sh":
            if body.startswith("pip install -e .\n"):
                install(tmp_path)
                body = body.partition("\n")[2]
            body = re.sub(r"(?m)^fewfold ", f"{sys.executable} -m fewfold.cli ", body)
            command = ["sh", "-e", "-c", body]
        else:
            continue
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{body}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize(("page", "body"), YAML, ids=[page for page, _ in YAML])
def test_yaml_blocks_are_parts_of_configs(page, body):
    given = yaml.safe_load(body)
    if page == "docs/add-a-method.md":  # its method is installed by another block of the page
        methods = given.pop("methods", {})
        assert all("learner" in entry for entry in methods.values())
        given.get("run", {}).pop("methods", None)
    config = with_defaults(given, ROOT)
    validate(config, read_schema(ROOT))


def test_every_fenced_block_says_what_it_is():
    """A block without a language would neither run nor be checked."""
    known = {"python", "sh", "yaml", "toml", "mermaid", "text", ""}  # "" closes a block
    for page, text in TEXTS.items():
        fences = re.findall(r"^```(.*)$", text, re.M)
        assert set(fences) <= known and fences[1::2] == [""] * (len(fences) // 2), page
        assert "" not in fences[::2], f"{page}: name the language of each block"
