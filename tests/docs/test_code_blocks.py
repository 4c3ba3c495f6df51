"""Code blocks of the pages run as they are written, in order, in one folder per page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|sh|yaml)\n(.*?)^```", re.M | re.S)
# Pages whose every python and sh block runs. A yaml block that begins with "# name.yaml" is a file.
PAGES = [
    "README.md",
    "docs/tutorial.md",
    *(f"docs/tutorials/{name}.md" for name in ("compare", "embeddings", "images")),
    *(f"docs/methods/{name}.md" for name in ("atlas", "diffusion", "eigenbasis")),
    *(f"docs/methods/{name}.md" for name in ("mbed", "multimanifold")),
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page, tmp_path):
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks
    for number, (language, body) in enumerate(blocks):
        if language == "yaml":
            name = re.match(r"# (\S+\.yaml)", body)
            if name:
                (tmp_path / name[1]).write_text(body, encoding="utf-8")
            continue
        if language == "python":
            script = tmp_path / f"block_{number}.py"
            script.write_text(body, encoding="utf-8")
            command = [sys.executable, script.name]
        else:
            body = re.sub(r"(?m)^fewfold ", f"{sys.executable} -m fewfold.cli ", body)
            command = ["sh", "-e", "-c", body]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{body}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
