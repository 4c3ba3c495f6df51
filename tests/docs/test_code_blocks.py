"""Code blocks of the pages run as they are written, in order, in one folder per page."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|sh|yaml|toml)\n(?:# (\S+\.\w+)\n)?(.*?)^```", re.M | re.S)
# Pages whose python and sh blocks run. A block that begins with "# name.ending" is that file.
PAGES = [
    "README.md",
    "docs/add-a-method.md",
    "docs/cluster.md",
    "docs/tutorial.md",
    *(f"docs/tutorials/{name}.md" for name in ("compare", "embeddings", "images")),
    *(f"docs/methods/{name}.md" for name in ("atlas", "diffusion", "eigenbasis")),
    *(f"docs/methods/{name}.md" for name in ("mbed", "multimanifold")),
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
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
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
