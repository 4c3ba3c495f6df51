"""The workflow as a user runs it: a copy of the project, one finished run, and dry runs of it.

Tests work on a copy of the project, so that they may change library code, and so that a
developer's edits while tests run do not count as changes.
"""

import fcntl

import pytest

from _project import Project, copy_project


@pytest.fixture(scope="session")
def shared(tmp_path_factory, worker_id):
    """A folder that all workers of this test run share."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session")
def worker_id(request):
    return getattr(request.config, "workerinput", {}).get("workerid", "master")


@pytest.fixture(scope="session")
def finished(shared):
    """(project, directory) of one finished run of the tests' config, made once."""
    folder = shared / "workflow"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        log = folder / "first_run.log"
        if not log.exists():
            project = copy_project(folder / "project")
            done = project.snakemake(folder / "run", "--cores", "2")
            log.write_text(done.stdout)
        project = Project(folder / "project")
        assert (folder / "run/results/report/index.html").exists(), log.read_text()[-5000:]
    return project, folder / "run"


@pytest.fixture(scope="session")
def project(finished):
    return finished[0]


@pytest.fixture
def fresh_project(tmp_path):
    """A copy of the project whose code a test may change."""
    return copy_project(tmp_path / "project")
