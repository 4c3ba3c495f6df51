"""Names out of configs and files reach neither a shell nor a place outside of the run."""

import ast
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "a b;'\"$(touch PWNED)`touch PWNED`<script>alert(1)</script>"


def hostile_table():
    columns = ["width $(touch PWNED)", "'; touch PWNED; '", "../../up"]
    lines = [",".join([*columns, "kind;$(touch PWNED)"])]
    for i in range(40):
        kind = "<img src=x onerror=alert(1)>" if i % 2 else "$(touch PWNED)"
        lines.append(f"{i % 7 + 10 * (i % 2)},{i % 5},{i % 3},{kind}")
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_hostile_names_of_files_columns_and_classes_are_only_names(project, tmp_path):
    folder = tmp_path / HOSTILE.replace("/", "_")
    folder.mkdir()
    # Its own folder has no <name> in it: Snakemake would take that for a variable (next test).
    data = tmp_path / HOSTILE.replace("<", "(").replace("/", "_")
    data.mkdir()
    file = data / "x $(touch PWNED);'.csv"
    file.write_text(hostile_table())
    options = {"path": str(file), "target": "kind;$(touch PWNED)"}
    config = {
        "run": {"datasets": ["mine"], "methods": ["knn"], "labels": [6], "trials": 2},
        "datasets": {"mine": {"source": "file", "options": options}},
    }
    path = folder / "$(touch PWNED) config.yaml"
    path.write_text(yaml.safe_dump(config))
    out = folder / "out $(touch PWNED)"
    done = project.fewfold("run", "--cores", "2", "--configfile", path, "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert not list(tmp_path.rglob("PWNED")) and not (project.folder / "PWNED").exists()
    # Everything that was made lies where it should.
    assert {p.name for p in folder.iterdir()} == {path.name, out.name}
    assert {p.name for p in data.iterdir()} == {file.name}
    assert {p.name for p in out.iterdir()} == {"results", "logs", ".snakemake"}
    page = (out / "results/report/index.html").read_text()
    assert "<img src=x" not in page and "<script>alert" not in page
    assert "&lt;img src=x" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["<results>", "a {dataset} {0} } { {{b}}"])
def test_names_that_snakemake_would_rewrite(project, tmp_path, name):
    """Variables, wildcards and braces without a partner, in names of the user's files."""
    file = tmp_path / name / f"{name}.csv"
    file.parent.mkdir()
    file.write_text(hostile_table())
    options = {"path": str(file), "target": "kind;$(touch PWNED)"}
    config = {
        "run": {"datasets": ["mine"], "methods": ["knn"], "labels": [6], "trials": 2},
        "datasets": {"mine": {"source": "file", "options": options}},
    }
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(config))
    out = tmp_path / name.translate(str.maketrans("{}", "()"))
    done = project.fewfold("run", "--cores", "2", "--configfile", path, "--out", out)
    assert done.returncode == 0, done.stdout
    assert (out / "results/metrics.csv").exists()


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_no_code_evaluates_unpickles_or_starts_a_shell():
    """No eval, exec, pickle, unsafe YAML or shell in the library and its scripts."""
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, call in calls(tree):
            assert name not in ("eval", "exec", "os.system", "os.popen", "yaml.unsafe_load"), path
            words = {k.arg: ast.unparse(k.value) for k in call.keywords}
            assert words.get("shell") is None and words.get("allow_pickle") != "True", path
            if name == "yaml.load":
                assert "Loader" in words or len(call.args) > 1, path
        imported = {
            alias.name.split(".")[0]
            for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in ([ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom)
                          else node.names)
        }  # fmt: skip
        assert not imported & {"pickle", "shelve", "marshal", "dill", "cloudpickle"}, path


def test_no_rule_runs_a_shell_command():
    for path in (
        ROOT / "Snakefile",
        ROOT / "workflow/Snakefile",
        *(ROOT / "workflow/rules").glob("*.smk"),
    ):
        lines = [line.strip() for line in path.read_text().splitlines()]
        assert "shell:" not in lines and "run:" not in lines, path
