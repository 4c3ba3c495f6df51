"""Small and read-only disks for tests, by real mounts."""

import subprocess

import pytest


def mounted(*words, needs):
    """Mount, or skip and say why: `conftest` makes a failure of that in CI."""
    try:
        done = subprocess.run(
            ["mount", *map(str, words)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip(f"{needs} needs the mount command, runs on Linux as root")
    if done.returncode:
        pytest.skip(f"{needs} needs a mount, runs as root: {done.stderr.strip()}")
