"""``docs/reproduction.md``: every table of the papers from the committed CSV files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import reproduction_tables as tables
from prose import wrapped
from reproduction_figures import draw_all

from fewfold.reproduce.compare import compare, count, judge_claims
from fewfold.reproduce.measured import read_measured
from fewfold.reproduce.published import (
    KEYS,
    data_folder,
    read_claims,
    read_published,
    read_reasons,
)

PAPERS = {
    "atlas": "Pitelis, Russell, Agapito 2014, "
    "*Semi-supervised Learning Using an Unsupervised Atlas*",
    "eigenbasis": "Belkin, Niyogi 2002, "
    "*Using Manifold Structure for Partially Labeled Classification*",
    "mbed": "Zien, Quiñonero-Candela 2005, *Large Margin Non-Linear Embedding*",
    "multimanifold": "Goldberg, Zhu, Singh, Xu, Nowak 2009, "
    "*Multi-Manifold Semi-Supervised Learning*",
    "invariance": "Pozdnoukhov, Bengio 2006, *Graph-based transformation manifolds for invariant "
    "pattern recognition with kernel methods*",
}
INTRO = """# The papers' tables, with our numbers beside them

Written by `make reproduction-docs` from `data/published/` (what the papers print) and
`data/measured/` (what `fewfold reproduce KEY --commit-table` measured); a test compares them.

A cell reads *published → **measured** mark*, with ± one standard deviation over the draws.

| mark | meaning |
| --- | --- |
| ✔ | matched: within two published standard deviations, or 10 % of the value where none is printed; never less than its rounding |
| ✔✔ | beaten: better by more than that |
| ✘ | missed: worse by more than that, with the reason below the table |
| no arrow | a method that fewfold does not run: published only |
| ? | a value that is in a drawing only, which the text we have does not show; the paper's own statements about it are checked instead |

Where a run has both a paper's own settings and fewfold's defaults, both are compared and counted.
Times on other computers are shown and not counted. Model selection in our runs never sees test
labels; where a paper's figure was chosen on test labels, the lines below its table say so.
"""  # noqa: E501


@dataclass(frozen=True)
class Part:
    """One paper: its cells and statements compared, and the facts of our run (None: no run)."""

    key: str
    cells: pd.DataFrame
    claims: pd.DataFrame
    facts: dict | None
    measured: pd.DataFrame | None


def load(published: Path | None = None, measured: Path | None = None) -> list[Part]:
    """Compare all papers with what has been measured."""
    published = published or data_folder("published")
    measured = measured or data_folder("measured")
    claims = read_claims(published / "claims.csv")
    reasons = read_reasons(published / "reasons.csv")
    parts = []
    for key in KEYS:
        table = facts = None
        if (measured / f"{key}.csv").exists():
            table, facts = read_measured(measured / f"{key}.csv")
        cells = compare(read_published(published / f"{key}.csv"), table, reasons)
        own = judge_claims(claims[claims["paper"] == key], table, reasons)
        parts.append(Part(key, cells, own, facts, table))
    return parts


def write_page(parts: list[Part]) -> dict[str, str]:
    """Return the page and its figures: file names under ``docs`` and their text."""
    pictures = draw_all({p.key: p.measured for p in parts if p.measured is not None})
    text = [INTRO, _totals(parts), _sharpest(parts), _runs(parts)]
    text += [_section(part, pictures) for part in parts]
    page = wrapped("\n".join(text).rstrip() + "\n")
    return {"reproduction.md": page, **{f"images/{n}": svg for n, svg in pictures.items()}}


def _totals(parts):
    rows, everything = [], []
    for part in parts:
        statuses = [*part.cells["status"], *part.claims["status"]]
        everything += statuses
        rows.append([f"[{part.key}](#{part.key})", *_counts(statuses)])
    rows.append(["all five", *_counts(everything)])
    head = ["paper", "beaten", "matched", "missed", "matched or beaten", "not run", "drawn or time"]
    return "## Result\n\n" + tables.markdown([*head, "published only"], rows) + (
        "\n\nStatements of a paper that compare two results count like cells.\n"
    )  # fmt: skip


def _counts(statuses):
    c = count(statuses)
    share = f"{100 * c['share']:.0f} %" if c["compared"] else "–"
    names = ("beaten", "matched", "missed")
    apart = c["no value"] + c["shown only"]
    return [
        *(str(c[n]) for n in names),
        share,
        *map(str, (c["not run"], apart, c["published only"])),
    ]


def _sharpest(parts):
    claims = pd.concat([p.claims[p.claims["sharpest"] == "yes"] for p in parts])
    return f"## The sharpest result of each paper\n\n{tables.claims_table(claims)}\n"


def _runs(parts):
    rows = []
    for part in parts:
        f = part.facts
        command = f"`fewfold reproduce {part.key}`"
        if f is None:
            rows.append([command, "not run yet", *[""] * 6])
            continue
        state = f["date"] if f["complete"] == "yes" else f"{f['date']}, unfinished"
        times = [
            f"{float(f['cpu_s']) / 3600:.2f} h",
            f"{f['hours_2_cores']} h",
            f"{f['hours_32_cores']} h",
        ]
        rows.append([command, state, f"`{f['commit']}`", f["seed"], f["draws"], *times])
    head = [
        "run again with",
        "last run",
        "commit at its end",
        "seed",
        "draws",
        "CPU time",
        "on 2 cores",
        "on 32 cores",
    ]
    machines = sorted({p.facts["machine"] for p in parts if p.facts})
    return f"""## Runs

{tables.markdown(head, rows)}

Times for 2 and 32 cores are upper bounds from the CPU seconds of each job: all work over the cores,
plus the longest chain of jobs that wait for each other. `--trials N` sets the number of draws,
`--cores N` and `--profile slurm` where it runs; finished jobs are not run again. Measured on
{"; ".join(machines) or "nothing yet"}, shared with other work.
"""


def _section(part: Part, pictures):
    lines = [f"## {part.key}\n\n{PAPERS[part.key]}. Method: [{part.key}](methods/{part.key}.md).\n"]
    if part.facts is None:
        lines.append("**Not run yet.** What the paper prints:\n")
    elif part.facts["complete"] != "yes":
        lines.append("The run is not complete; what it lacks is marked *not run*.\n")
    name = f"reproduction_{part.key}.svg"
    if name in pictures:
        lines.append(f"![Figures of {part.key}, drawn from our run](images/{name})\n")
    for where, rows in part.cells.groupby("where", sort=False):
        for unit, chosen in rows.groupby("unit", sort=False):
            lines.append(f"### {where}, {unit}\n\n{tables.paper_table(chosen)}\n")
            notes = [tables.missed_list(chosen), _disclosures(chosen)]
            lines += [f"{note}\n" for note in notes if note]
    if len(part.claims):
        lines.append(f"### What the text says\n\n{tables.claims_table(part.claims)}\n")
    return "\n".join(lines)


def _disclosures(rows):
    lines = []
    tuned = list(dict.fromkeys(rows.loc[rows["tuned_on_test"] == "yes", "method"]))
    if tuned:
        lines.append(f"- Published {', '.join(tuned)}: chosen on test labels by the authors.")
    eye = list(dict.fromkeys(rows.loc[rows["source"] == "eye", "method"]))
    if eye:
        lines.append(f"- Read off a figure by eye: {', '.join(eye)}.")
    if (rows["source"] == "recovered").any():
        lines.append(
            "- Digits are missing from the text we have; values as recovered in our notes."
        )
    for note in dict.fromkeys(n for n in rows["note"] if n):
        lines.append(f"- {note[0].upper()}{note[1:]}.")
    return "\n".join(lines)


def main(folder: Path) -> None:
    """Write the page and its figures into a folder of documents."""
    from fewfold.pipeline.artifacts import atomic_path

    for name, text in write_page(load()).items():
        with atomic_path(folder / name) as part:
            Path(part).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[2] / "docs")
