"""Count the lines of code in src/, room by room: no blank lines, comments or docstrings.

    python benchmarks/code_lines.py [--root FOLDER]

``--root`` counts another checkout, so that two commits are compared by the same command. Rooms
and modules that belong to issues after the redesign are summed apart; the assignment is below.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

# Rooms written for later issues, by the beginning of their paths below src/fewfold.
LATER = {
    "session": "labels by clicking",
    "labeling": "the answer",
    "datasets/table": "reading tables",
    "methods/trees": "the answer",
    "methods/linear": "the answer",
    "methods/lds": "the answer",
    "methods/cluster_kernel": "the answer",
    "methods/views": "images",
    "reproduce": "papers",
    "system/file_schema.py": "safety",
    "pipeline/stage_schemas.py": "safety",
    "verify.py": "safety",
}
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


def main(root: Path) -> None:
    package, rooms, later = root / "src" / "fewfold", Counter(), Counter()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        count = code_lines(path.read_text(encoding="utf-8"))
        rooms[name.split("/")[0] if "/" in name else "(top)"] += count
        issue = next((LATER[p] for p in LATER if name == p or name.startswith(f"{p}/")), None)
        later[issue] += count
    for room, count in sorted(rooms.items()):
        print(f"{room:12} {count:6}")
    print(f"{'all':12} {sum(rooms.values()):6}\n\nof which for later issues:")
    for issue, count in sorted((k, v) for k, v in later.items() if k):
        print(f"{issue:20} {count:6}")
    print(f"{'all others':20} {later[None]:6}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    main(parser.parse_args().root)
