"""What all tests share: a small disk, what some need, and skips that must say why."""

import os
import subprocess

import pytest

from _mounting import mounted
from _report_chromium import find

# Before NumPy is imported: workers share the cores, and threads that wait for each other spin.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# What a marked test needs: whether it is here, and why and when the test runs if it is not.
NEEDS = {
    "realdata": (
        lambda: os.environ.get("FEWFOLD_MIRROR"), "FEWFOLD_MIRROR is not set: runs where it is"
    ),
    "browser": (find, "no Chromium on PATH: runs where there is one"),
}  # fmt: skip
# In CI a test that cannot run must not look as if it had passed: a skip fails there, unless its
# reason says what is missing and "runs where" it is not. scikit-learn's own check of inputs that
# are not NumPy's asks for a setting of SciPy that fewfold does not promise to work with.
ALLOWED = ("runs where", "SCIPY_ARRAY_API is not set")
NO_SKIPS = bool(os.environ.get("FEWFOLD_NO_SKIPS"))


def pytest_runtest_setup(item):
    for name, (is_here, reason) in NEEDS.items():
        if item.get_closest_marker(name) and not is_here():
            pytest.skip(reason)


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
    mounted("-t", "tmpfs", "-o", "size=1m", "none", folder, needs="a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=False)
