"""What all tests share: a small full disk, and a shell that runs the workflow."""

import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 1 MiB; skips where mounting is not permitted."""
    folder = tmp_path / "small_disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if done.returncode:
        pytest.skip(f"mounting a small disk is not permitted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=False)
