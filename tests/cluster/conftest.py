"""A real SLURM with two virtual nodes for the time of the tests."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("slurm.sh")


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """Start SLURM; yields the environment in which its commands work."""
    if shutil.which("slurmctld") is None:
        pytest.skip("SLURM is not installed: run the tests by 'make test-cluster'")
    if os.geteuid() != 0:
        pytest.skip("the cluster tests start SLURM's daemons, which needs root")
    # Paths of sockets must be short: not below pytest's own folder.
    home = Path("/tmp") / f"fewfold-slurm-{os.getpid()}"
    subprocess.run([SCRIPT, "start", home, "2", "2", "6000"], check=True, timeout=120)
    try:
        yield {**os.environ, "SLURM_CONF": str(home / "etc/slurm.conf")}
    finally:
        subprocess.run([SCRIPT, "stop", home], check=False, timeout=120)
        shutil.rmtree(home, ignore_errors=True)
