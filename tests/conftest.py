"""What all tests share: a small full disk, and skips that must give account of themselves."""

import os
import subprocess

import pytest

# In CI a test that cannot run must not look as if it had passed: a skip fails there, unless its
# reason says what is missing and "runs where" it is not. scikit-learn's own check of inputs that
# are not NumPy's asks for a setting of SciPy that fewfold does not promise to work with.
ALLOWED = ("runs where", "SCIPY_ARRAY_API is not set")
NO_SKIPS = bool(os.environ.get("FEWFOLD_NO_SKIPS"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(words in reason for words in ALLOWED):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped where no test may be: {reason}"
    return report


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 1 MiB; skips where mounting is not permitted."""
    folder = tmp_path / "small_disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs the mount command for a small disk, runs on Linux as root")
    if done.returncode:
        pytest.skip(f"needs to mount a small disk, runs as root: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=False)
