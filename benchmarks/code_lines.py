"""Count the lines of code in src/, room by room: no blank lines, comments or docstrings.

    python benchmarks/code_lines.py [--root FOLDER] [--since COMMIT]

``--root`` counts another checkout, so that two commits are compared by the same command.
``--since`` also sums what each commit after another one added or removed, by the issue it was made
for: commits and their issues are in ``results/code_commits.csv``, one that served several issues
with the beginnings of paths. Commits that are not listed are the house's own.
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import subprocess
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

ISSUES = Path(__file__).with_name("results") / "code_commits.csv"
_NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER, tokenize.ENCODING,
}  # fmt: skip


def code_lines(source: str) -> int:
    """Count the lines that hold code.

    Examples
    --------
    >>> code_lines('"Docstring."\\n\\nx = 1  # a reason\\n# another\\ny = [\\n    2,\\n]\\n')
    4
    """
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        owner = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if owner and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines.difference_update(range(text.lineno, text.end_lineno + 1))
    return len(lines)


def rooms(root: Path) -> Counter:
    """Count the code of a checkout by the folders below its package."""
    package, found = root / "src" / "fewfold", Counter()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        room = name.split("/")[0] if "/" in name else "(top)"
        found[room] += code_lines(path.read_text(encoding="utf-8"))
    return found


def by_issue(root: Path, since: str) -> Counter:
    """Sum the lines that commits added, less those that they removed, by their issues."""
    with open(ISSUES, encoding="utf-8") as file:
        table = list(csv.DictReader(file))

    def git(*words):
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")

    @cache
    def lines_of(blob):
        return 0 if set(blob) == {"0"} else code_lines(git("cat-file", "blob", blob))

    found = Counter()
    for commit in git("rev-list", "--no-merges", f"{since}..HEAD").split():
        rows = [row for row in table if commit.startswith(row["commit"])]
        changed = git("diff-tree", "-r", "--no-renames", commit, "--", "src/fewfold")
        for line in changed.splitlines():
            if not line.endswith(".py"):
                continue
            (_, _, before, after, _), name = line.split("\t")[0].split(), line.split("/", 2)[2]
            fits = [row for row in rows if name.startswith(row["path"])]
            issue = max(fits, key=lambda row: len(row["path"]))["issue"] if fits else "house"
            found[issue] += lines_of(after) - lines_of(before)
    return found


def main(root: Path, since: str | None) -> None:
    """Print the table of rooms and, with a commit, that of issues."""
    found = rooms(root)
    for room, count in sorted(found.items()):
        print(f"{room:12} {count:6}")
    print(f"{'all':12} {found.total():6}")
    if since is None:
        return
    added = by_issue(root, since)
    later = {issue: count for issue, count in added.items() if issue != "house"}
    print(f"\nadded since {since}, less what was removed, by issue:")
    for issue, count in sorted(added.items()):
        print(f"{issue:20} {count:6}")
    print(f"{'without later issues':20} {found.total() - sum(later.values()):6}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--since", metavar="COMMIT")
    arguments = parser.parse_args()
    main(arguments.root, arguments.since)
