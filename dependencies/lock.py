"""Write the lock files: exact versions of everything fewfold needs, with the digests of its files.

`make lock` runs this in an environment with pip-tools. Versions stay as they are locked; with
--upgrade the newest that fit together are taken. The digests are those that the package index
gives for every file of a version, so that one lock serves all platforms.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pip._internal.req.constructors import install_req_from_line
from piptools.repositories import PyPIRepository

HERE = Path(__file__).resolve().parent
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
HEADER = "# Made by `make lock`; do not edit.\n"


def locked(path):
    """The versions of a lock file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return dict(line.split(" ")[0].split("==") for line in text.splitlines() if "==" in line)


def resolve(wanted, versions):
    """Versions of these requirements and of all they need, near to those that are locked."""
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text("".join(f"{n}=={v}\n" for n, v in versions.items()))
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
             "--disable-pip-version-check", "--report", "-", "--constraint", constraints, *wanted],
            check=True, stdout=subprocess.PIPE,
        )  # fmt: skip
    found = (item["metadata"] for item in json.loads(done.stdout)["install"])
    return {canonicalize_name(m["name"]): m["version"] for m in found}


def digests(repository, name, version):
    """The index's digests of all files of a version."""
    wanted = install_req_from_line(f"{name}=={version}")
    with repository.allow_all_wheels():
        files = [c for c in repository.find_all_candidates(name)
                 if wanted.specifier.contains(c.version, prereleases=True)]  # fmt: skip
    found = sorted({c.link.hash for c in files if c.link.hash_name == "sha256"})
    if not found:
        raise SystemExit(f"The package index gives no digests for {name} {version}.")
    return found


def write(path, versions, repository):
    lines = [HEADER]
    for name, version in sorted(versions.items()):
        hashes = digests(repository, name, version)
        lines.append(
            " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{h}" for h in hashes)])
        )
        lines.append("\n")
    path.write_text("".join(lines), encoding="utf-8")
    print(f"{path.name}: {len(versions)} packages")


def main():
    keep = "--upgrade" not in sys.argv[1:]
    project, extras = PROJECT["project"], PROJECT["project"]["optional-dependencies"]
    base = [*project["dependencies"], *PROJECT["build-system"]["requires"], *extras["dev"]]
    paths = {name: HERE / f"{name}.lock" for name in ("dev", "slurm", "peers", "docs")}
    old = {name: locked(path) for name, path in paths.items()}
    with tempfile.TemporaryDirectory() as cache:
        repository = PyPIRepository([], cache_dir=cache)
        dev = resolve(base, old["dev"] if keep else {})
        write(paths["dev"], dev, repository)
        for name in ("slurm", "peers", "docs"):
            wanted = [str(Requirement(text)) for text in extras[name]]
            found = resolve([*base, *wanted], {**(old[name] if keep else {}), **dev})
            more = {n: v for n, v in found.items() if n not in dev}
            write(paths[name], more, repository)


if __name__ == "__main__":
    main()
