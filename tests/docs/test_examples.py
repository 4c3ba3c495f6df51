"""Every script of the gallery runs and draws what its page shows."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "docs/examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_draws_its_figure(script, tmp_path):
    done = subprocess.run(
        [sys.executable, script, "figure.png"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "figure.png") as figure:
        grays = figure.convert("L").getcolors(256)
    # a blank figure has one gray; axes, text and marks have many
    assert len(grays) > 20


def test_gallery_lists_every_script_and_figure():
    page = (ROOT / "docs/examples/README.md").read_text()
    for script in SCRIPTS:
        assert f"({script.name})" in page
        assert f"examples/{script.stem}.png" in page
        assert (ROOT / "docs/images/examples" / f"{script.stem}.png").exists()
